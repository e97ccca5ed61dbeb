package document

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

var utf8BOM = []byte("\xef\xbb\xbf")

// newFile takes the bytes of a YAML file: text in UTF-16 or UTF-32 is converted to UTF-8 as yaml-cpp's stream does.
func newFile(src []byte) *file {
	decode, skip := detectEncoding(src)
	if decode != nil {
		return &file{src: decode(src[skip:])}
	}
	return &file{src: src, bom: skip}
}

// ToUTF8 is a YAML text as yaml-cpp's stream has it: in UTF-8, whatever the file is in.
func ToUTF8(src []byte) []byte { return newFile(src).src }

// detectEncoding looks at the first bytes as yaml-cpp's stream does. It returns what converts the text, nil for UTF-8,
// and the length of the byte order mark.
func detectEncoding(src []byte) (decode func([]byte) []byte, skip int) {
	var b [4]byte
	n := copy(b[:], src)
	isNUL := func(i int) bool { return i < n && b[i] == 0 }
	switch {
	case bytes.HasPrefix(src, utf8BOM):
		return nil, len(utf8BOM)
	case n >= 4 && b == [4]byte{0, 0, 0xFE, 0xFF}:
		return utf32(binary.BigEndian), 4
	case isNUL(0) && isNUL(1) && isNUL(2):
		return utf32(binary.BigEndian), 0
	case isNUL(0) && isNUL(1):
		return nil, 0
	case isNUL(0) && n > 1 && b[1] != 0xBB && b[1] != 0xBF && b[1] < 0xEF:
		return utf16(binary.BigEndian), 0
	case n >= 2 && b[0] == 0xFE && b[1] == 0xFF:
		return utf16(binary.BigEndian), 2
	case n >= 4 && b == [4]byte{0xFF, 0xFE, 0, 0}:
		return utf32(binary.LittleEndian), 4
	case n >= 2 && b[0] == 0xFF && b[1] == 0xFE:
		return utf16(binary.LittleEndian), 2
	case n > 0 && b[0] != 0xBB && b[0] != 0xBF && b[0] < 0xEF && isNUL(1) && isNUL(2) && isNUL(3):
		return utf32(binary.LittleEndian), 0
	case n > 0 && b[0] != 0 && b[0] != 0xBB && b[0] != 0xBF && b[0] < 0xEF && isNUL(1):
		return utf16(binary.LittleEndian), 0
	}
	return nil, 0
}

// utf16 returns a converter. A surrogate without its partner becomes U+FFFD, an odd byte at the end is dropped.
func utf16(order binary.ByteOrder) func([]byte) []byte {
	return func(src []byte) []byte {
		out := make([]byte, 0, len(src)/2+len(src)/8)
		for ; len(src) >= 2; src = src[2:] {
			c := rune(order.Uint16(src))
			if c >= 0xD800 && c < 0xDC00 && len(src) >= 4 {
				if low := rune(order.Uint16(src[2:])); low >= 0xDC00 && low < 0xE000 {
					c = 0x10000 + (c-0xD800)<<10 + (low - 0xDC00)
					src = src[2:]
				}
			}
			out = appendStreamRune(out, c)
		}
		return out
	}
}

func utf32(order binary.ByteOrder) func([]byte) []byte {
	return func(src []byte) []byte {
		out := make([]byte, 0, len(src)/4+len(src)/16)
		for ; len(src) >= 4; src = src[4:] {
			c := order.Uint32(src)
			if c > utf8.MaxRune {
				c = utf8.RuneError
			}
			out = appendStreamRune(out, rune(c))
		}
		return out
	}
}

// appendStreamRune appends a character; the one that yaml-cpp's stream uses for its end is replaced.
func appendStreamRune(out []byte, c rune) []byte {
	if c == endOfText {
		c = utf8.RuneError
	}
	return utf8.AppendRune(out, c)
}
