package amqp

// remaining returns how many more transfers a sender may make under a grant of its receiver: a session's
// window (OASIS AMQP 1.0 part 2, 2.5.6) or a link's credit (2.6.7). granted is the number of transfers
// granted, counted from seen, the position of the sender as the receiver knew it then. sent is the current
// position of the sender. granted is an unsigned number, which may be 2^32-1; seen and sent are serial
// numbers (RFC 1982).
func remaining(granted, seen, sent uint32) uint32 {
	underway := sent - seen
	if int32(underway) < 0 { // the receiver claims transfers that were never sent
		underway = 0
	}
	return granted - min(granted, underway)
}
