package wire

// prefixCRC is filled by the helper.
type prefixCRC struct{}
