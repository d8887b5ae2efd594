// Package fault says what goes wrong on a network, by meaning: "drop the second
// acknowledgement", "flip a bit of every hundredth READ response". It moves no frame
// itself: what carries frames (package simnet, a wire of a test) asks a [Set] about
// each of them and does to it what the [Fate] says.
//
// # Rules
//
// A [Rule] is a kind of fault and a [Match], which says what packets it strikes:
//
//	rules := []*fault.Rule{
//		fault.Drop(fault.Match{Op: new(bth.RCAcknowledge), Nth: 2}),
//		fault.Corrupt(fault.Match{Has: bth.Read | bth.Response, Every: 100}, -1),
//	}
//
// # Scripts
//
// [Parse] reads rules from text, one in a line. [Rule.String] is the line of a rule.
//
//	drop ack nth 2                          # the second acknowledgement, once
//	drop request psn 0x1234 transmission 1  # a PSN, but not when it is sent again
//	corrupt read-response bit -1 every 100  # a bit of the ICRC
//	delay write-middle by 5ms
//	reorder data by 2                       # two later packets pass first
//	duplicate any p 0.01 seed 7             # by chance, the same with each run
//	drop any between a b                    # a partition
//	random request from a drop 0.01 corrupt 0.001
//
// A line is a kind of fault, the packets that it is about, and any number of
// conditions and arguments, each a word and its value, in any order. What follows a #
// is a comment. Numbers are decimal, or hexadecimal with 0x.
//
//	drop                loses packets
//	duplicate           delivers them twice
//	delay               holds them up: by 5ms
//	reorder             lets later ones pass them: by 2
//	corrupt             flips a bit of them: bit 0 is the first of the BTH, bit -1
//	                    the last of the ICRC
//	mark-ce             sets Congestion Experienced, if the sender reacts to it
//	random              does one or more of the others by chance, each on its own:
//	                    drop 0.01 duplicate 0.01 reorder 0.01 corrupt 0.01 mark-ce 0.01
//
// The packets:
//
//	any                 all frames
//	request, response   what travels from requester to responder, and back
//	data                requests with payload: SEND, RDMA WRITE
//	send, write         of these operations
//	read-request, read-response, atomic-request, atomic-response
//	ack, nak, rnr-nak   Acknowledge by its syndrome
//	cnp                 congestion notifications
//	send-first …        one opcode: its name in the specification in lower case, with -
//	                    for spaces and without RC and RDMA, such as write-middle,
//	                    read-response-last, send-only-with-immediate, acknowledge
//
// Conditions on the packet:
//
//	from a, to b        the names of the ends, as what carries the frames calls them
//	between a b         either direction
//	qpn 0x12            the destination queue pair
//	psn 7
//	transmission 2      1: sent for the first time, 2: the first retransmission …
//	p 0.01              by chance
//	seed 7              of that chance; without it the seed is that of the Set
//
// Of the packets that fulfil all these, every one is struck, unless there is:
//
//	nth 3               the third only; with every or count, from the third on
//	every 10            one in ten (a period can meet the length of a retransmission,
//	                    and strike the same packet again and again: p cannot)
//	count 5             so many in all
package fault
