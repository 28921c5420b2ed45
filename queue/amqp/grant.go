package amqp

// remaining returns how many transfers a sender may still make of what its receiver has granted: a session's
// window (OASIS AMQP 1.0 part 2, 2.5.6) or a link's credit (2.6.7). granted counts from seen, the receiver's
// view of the sender's position when it granted; sent is the sender's position now. A grant is an unsigned
// count and may be 2^32-1; positions alone are serial numbers (RFC 1982).
func remaining(granted, seen, sent uint32) uint32 {
	underway := sent - seen
	if int32(underway) < 0 { // the receiver claims transfers that were never sent
		underway = 0
	}
	return granted - min(granted, underway)
}
