package roce_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/simnet"
)

func TestInfoAsJSONAndText(t *testing.T) {
	for _, gid := range []string{"10.0.0.1", "fd00::1"} {
		info := roce.Info{GID: netip.MustParseAddr(gid), QPN: 0x123456, PSN: 7, MTU: 1024, RdAtomic: 16}
		b, err := json.Marshal(info)
		require.NoError(t, err)
		require.JSONEq(t, `{"gid":"`+gid+`","qpn":1193046,"psn":7,"mtu":1024,"rd_atomic":16}`, string(b))
		var back roce.Info
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, info, back)

		text := info.String()
		require.Equal(t, "gid="+gid+" qpn=0x123456 psn=0x000007 mtu=1024 rd_atomic=16", text)
		back, err = roce.ParseInfo(text)
		require.NoError(t, err)
		require.Equal(t, info, back)
	}
	for _, s := range []string{"", "gid=x qpn=0x1 psn=0x2 mtu=3 rd_atomic=4", "qpn=0x1", "gid=10.0.0.1 qpn=0x1",
		"gid=10.0.0.1 qpn=0x000001 psn=0x000002 mtu=1024 rd_atomic=16 and more"} {
		_, err := roce.ParseInfo(s)
		require.ErrorContains(t, err, "does not describe a queue pair", s)
	}
}

func TestConnectSetsWhatItSays(t *testing.T) {
	p := newPair(t)
	a := p.a.qp.Attr()
	require.Equal(t, roce.QPAttr{
		State: roce.StateRTS, PKey: bth.DefaultPKey,
		Access:  roce.AccessRemoteWrite | roce.AccessRemoteRead | roce.AccessRemoteAtomic,
		PathMTU: 1024, DestQPN: p.b.qp.QPN(), DestAddr: netip.MustParseAddr("10.0.0.2"),
		RQPSN: bth.PSN(p.b.qp.Info().PSN), MaxDestRdAtomic: 16, MinRNRTimer: 12,
		SQPSN: bth.PSN(p.a.qp.Info().PSN), Timeout: 14, RetryCount: 7, RNRRetry: 7, MaxRdAtomic: 16,
	}, a)

	p = newPair(t, roce.WithRetry(10, 3, 2), roce.WithMinRNRTimer(5), roce.WithPathMTU(512),
		roce.WithReadLimits(3, 4), roce.WithTrafficClass(106, 7), roce.WithServiceLevel(5))
	a = p.a.qp.Attr()
	require.EqualValues(t, []any{uint8(10), uint8(3), uint8(2), uint8(5), 512, 3, 4, uint8(106), uint8(7), uint8(5)},
		[]any{a.Timeout, a.RetryCount, a.RNRRetry, a.MinRNRTimer, a.PathMTU, a.MaxRdAtomic, a.MaxDestRdAtomic, a.TrafficClass, a.HopLimit, a.SL})
}

// The path MTU is the smaller of what the two ends can take, and the READ limit is
// the peer's.
func TestConnectTakesTheMinimum(t *testing.T) {
	w := simnet.New(1)
	wide, err := roce.Open(w.Link("wide", netip.MustParseAddr("10.0.0.1"), simnet.MTU(9000)), roce.Manual())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, wide.Close()) })
	require.Equal(t, 4096, wide.Port().ActiveMTU)
	pd, err := wide.AllocPD()
	require.NoError(t, err)
	cq, err := wide.CreateCQ(8)
	require.NoError(t, err)
	q, err := pd.CreateQP(roce.QPConfig{SendCQ: cq})
	require.NoError(t, err)
	narrow := newEnd(t, w, "narrow", "10.0.0.2", roce.QPConfig{})
	info := narrow.qp.Info()
	info.RdAtomic = 3
	require.NoError(t, q.Connect(info))
	require.Equal(t, 1024, q.Attr().PathMTU)
	require.Equal(t, 3, q.Attr().MaxRdAtomic)

	err = narrow.qp.Connect(q.Info(), roce.WithPathMTU(4096))
	require.ErrorContains(t, err, "a link MTU of 4192 bytes is needed, it has 1500")
	require.NoError(t, q.Modify(roce.QPAttr{State: roce.StateReset}, roce.AttrState))
	require.ErrorContains(t, q.Connect(info, roce.WithPathMTU(2048)), "more than the peer's 1024")
}

func TestConnectRefuses(t *testing.T) {
	p := newUnconnected(t, roce.QPConfig{})
	good := p.b.qp.Info()
	var attr *roce.AttrError
	require.ErrorAs(t, p.a.qp.Connect(good, roce.WithPathMTU(1000)), &attr)
	require.ErrorAs(t, p.a.qp.Connect(good, roce.WithReadLimits(129, 1)), &attr)
	require.ErrorAs(t, p.a.qp.Connect(good, roce.WithRetry(14, 8, 7)), &attr)
	require.ErrorAs(t, p.a.qp.Connect(roce.Info{}), &attr, "no address")
	unreachable := good
	unreachable.GID = netip.MustParseAddr("10.0.0.99")
	require.ErrorContains(t, p.a.qp.Connect(unreachable), "10.0.0.99")
	require.Equal(t, roce.StateReset, p.a.qp.State(), "a failed Connect leaves nothing behind")

	require.NoError(t, p.a.qp.Connect(good))
	var state *roce.StateError
	require.ErrorAs(t, p.a.qp.Connect(good), &state)
	require.Equal(t, roce.StateRTS, state.State)
}

func TestCreateQPRefuses(t *testing.T) {
	p := newUnconnected(t, roce.QPConfig{})
	for name, c := range map[string]struct {
		cfg  roce.QPConfig
		says string
	}{
		"service":     {roce.QPConfig{Type: 3, SendCQ: p.a.cq}, "use RC"},
		"no CQ":       {roce.QPConfig{}, "SendCQ is missing"},
		"foreign CQ":  {roce.QPConfig{SendCQ: p.b.cq}, "of the PD's device"},
		"depth":       {roce.QPConfig{SendCQ: p.a.cq, SendDepth: -1}, "SendDepth -1 is not between 1 and 65536"},
		"pieces":      {roce.QPConfig{SendCQ: p.a.cq, MaxSGE: 17}, "MaxSGE 17 is not between 1 and 16"},
		"GID index":   {roce.QPConfig{SendCQ: p.a.cq, GIDIndex: 1}, "no GID with index 1: there are 1"},
		"inline data": {roce.QPConfig{SendCQ: p.a.cq, MaxInline: 4096}, "MaxInline 4096 is not between 1 and 1024"},
	} {
		_, err := p.a.pd.CreateQP(c.cfg)
		require.ErrorContains(t, err, c.says, name)
	}
	_, err := p.a.dev.CreateCQ(0)
	require.ErrorContains(t, err, "depth 0 is not between")
}

func TestRemote(t *testing.T) {
	r := roce.Remote{Addr: 0x0102030405060708, Key: 0x090a0b0c, Len: 0x0d0e0f10}
	b, err := r.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, b)
	var back roce.Remote
	require.NoError(t, back.UnmarshalBinary(b))
	require.Equal(t, r, back)
	require.ErrorContains(t, back.UnmarshalBinary(b[1:]), "from 15 bytes: it has 16")
	require.Equal(t, roce.Remote{Addr: r.Addr + 16, Key: r.Key, Len: 8}, r.Slice(16, 8))
	require.Panics(t, func() { r.Slice(int(r.Len)-7, 8) })
	require.Panics(t, func() { r.Slice(-1, 8) })
}

func TestRegions(t *testing.T) {
	p := newUnconnected(t, roce.QPConfig{})
	local, err := p.a.pd.RegMR(make([]byte, 8), roce.AccessLocalWrite)
	require.NoError(t, err)
	require.Zero(t, local.Remote().Key, "nothing is offered to peers")
	zero, err := p.a.pd.RegMR(make([]byte, 8), roce.AccessRemoteRead|roce.AccessZeroBased)
	require.NoError(t, err)
	require.Zero(t, zero.Remote().Addr)
	chosen, err := p.a.pd.RegMR(make([]byte, 8), roce.AccessRemoteRead, roce.WithIOVA(0x1000))
	require.NoError(t, err)
	require.EqualValues(t, 0x1000, chosen.Remote().Addr)
	require.Equal(t, roce.SGE{Addr: 0x1002, Len: 3, LKey: chosen.Remote().Key}, chosen.SGE(2, 3))
	require.Panics(t, func() { chosen.SGE(6, 3) })
	var refused *roce.RegisterError
	_, err = p.a.pd.RegMR(nil, 0)
	require.ErrorAs(t, err, &refused)
}

// The same seed gives the same keys, numbers and PSNs; another seed others.
func TestSeededLinksRepeat(t *testing.T) {
	identify := func(seed uint64) [3]uint32 {
		w := simnet.New(seed)
		e := newEnd(t, w, "a", "10.0.0.1", roce.QPConfig{})
		return [3]uint32{e.qp.QPN(), e.qp.Info().PSN, uint32(e.mr.Remote().Key)}
	}
	require.Equal(t, identify(1), identify(1))
	require.NotEqual(t, identify(1), identify(2))
}

func TestOpenRefusesATinyMTU(t *testing.T) {
	w := simnet.New(1)
	_, err := roce.Open(w.Link("a", netip.MustParseAddr("10.0.0.1"), simnet.MTU(300)))
	require.ErrorContains(t, err, "MTU of 300 bytes")
	w.Link("a", netip.MustParseAddr("10.0.0.1")) // the link was closed: its name is free
}

func TestDeviceDescribesItself(t *testing.T) {
	p := newUnconnected(t, roce.QPConfig{})
	require.Equal(t, "sim a", p.a.dev.Attr().Name)
	require.Contains(t, p.a.dev.Attr().String(), "max_sge 16")
	require.Equal(t, "ACTIVE, active_mtu 1024, max_mtu 4096, link MTU 1500, 1 GIDs", p.a.dev.Port().String())
	gid, err := p.a.dev.GID(0)
	require.NoError(t, err)
	require.Equal(t, "::ffff:10.0.0.1", gid.String())
	_, err = p.a.dev.GID(1)
	require.Error(t, err)
}
