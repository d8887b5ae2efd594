package roce_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// I01: the conversation of storage over RDMA, thousands of times. The host binds a window to
// its buffer for one command and sends that, with the key in it; the target reads or writes
// through the window and ends the command by a SEND that invalidates it. Keys are good for
// one command: a target that keeps one is refused.
func TestStorageConversation(t *testing.T) {
	const commands, block = 3000, 4096
	p := newPair(t)
	host, target := p.a, p.b
	w, err := host.pd.AllocMW()
	require.NoError(t, err)
	buffer, err := host.pd.RegMR(make([]byte, block), bindable)
	require.NoError(t, err)
	var old roce.Remote
	for i := range commands {
		writes := i%2 == 0 // the target gets a block; else it gives one
		access := roce.AccessRemoteWrite
		if writes {
			access = roce.AccessRemoteRead
		}
		fill(buffer.Bytes(), i)
		fill(target.mr.Bytes()[block:2*block], 2*i+1)
		target.recv(1, 0, 64)
		host.recv(2, 0, 64)
		bind := w.Bind(buffer, 0, block, access)
		command := host.mr.Bytes()[1024:1040]
		binary.BigEndian.PutUint64(command, buffer.SGE(0, 1).Addr)
		binary.BigEndian.PutUint32(command[8:], uint32(bind.RKey))
		host.send(bind, roce.SendWR{Op: roce.OpSend, SGE: host.mr.SGE(1024, 16)})

		require.NoError(t, p.wait(target, 1)[0].Err())
		got := target.mr.Bytes()[:16]
		r := roce.Remote{Addr: binary.BigEndian.Uint64(got), Key: roce.RKey(binary.BigEndian.Uint32(got[8:]))}
		data := roce.SendWR{Op: roce.OpWrite, SGE: target.mr.SGE(block, block), RemoteAddr: r.Addr, RKey: r.Key}
		if writes {
			data.Op = roce.OpRead
		}
		end := roce.SendWR{Op: roce.OpSendInv, SGE: target.mr.SGE(0, 16), RKey: r.Key}
		if writes {
			end.Flags = roce.Fence // the block has to be there before its key goes
		}
		target.send(data, end)
		wc := p.wait(host, 1)[0]
		require.NoError(t, wc.Err())
		require.Equal(t, roce.WCFlagInv, wc.Flags)
		require.EqualValues(t, bind.RKey, wc.InvalidatedKey)
		require.True(t, bytes.Equal(buffer.Bytes(), target.mr.Bytes()[block:2*block]), "command %d", i)
		require.NotEqual(t, old.Key, r.Key)
		old = r
	}
	require.NoError(t, target.qp.Err())
	target.send(roce.SendWR{Op: roce.OpWrite, SGE: target.mr.SGE(0, 8), RemoteAddr: old.Addr, RKey: old.Key, Flags: roce.Signaled})
	require.Equal(t, roce.StatusRemoteAccess, p.wait(target, 1)[0].Status)
}
