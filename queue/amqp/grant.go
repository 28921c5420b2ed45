package amqp

// remaining returns how many more transfers a sender may make under a session's window (OASIS AMQP 1.0 part
// 2, 2.5.6) or a link's credit (2.6.7). granted is the number of transfers that the receiver has granted. It
// counts from seen, the sender's transfer count that the receiver knew at that time. sent is the sender's
// current transfer count. granted is an unsigned number, which may be 2^32-1; seen and sent are serial
// numbers (RFC 1982).
func remaining(granted, seen, sent uint32) uint32 {
	underway := sent - seen
	if int32(underway) < 0 { // the receiver claims transfers that were never sent
		underway = 0
	}
	return granted - min(granted, underway)
}
