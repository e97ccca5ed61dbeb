package document

// The classes of characters that yaml-cpp's expressions are made of (exp.h).
const (
	chBlank uint16 = 1 << iota
	chBreak
	chWord       // letters, digits and -
	chTag        // what a tag may hold besides words and %xx
	chURI        // what a verbatim tag may hold besides words and %xx
	chStop       // begins no plain scalar in block context
	chFlowStop   // begins no plain scalar in flow context
	chAnchorEnd  // may follow an anchor or alias
	chNoAnchor   // ends the name of an anchor or alias
	chPlainTest  // a plain scalar in block context may end here
	chFlowTest   // a plain scalar in flow context may end here
	chFlowEnd    // one of , ? [ ] { } ends a plain scalar in flow context
	chQuotedTest // a quoted scalar may end here, or have an escape sequence
)

// endOfText is what yaml-cpp's stream answers behind its end.
const endOfText = 0x04

var classes = func() (t [256]uint16) {
	set := func(class uint16, chars string) {
		for i := range len(chars) {
			t[chars[i]] |= class
		}
	}
	set(chBlank, " \t")
	set(chBreak, "\n\r")
	set(chWord, "-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	set(chTag, "#;/?:@&=+$_.~*'()")
	set(chURI, "#;/?:@&=+$,_.!~*'()[]")
	set(chStop, " \t\n\r,[]{}#&*!|>'\"%@`")
	set(chFlowStop, " \t\n\r?,[]{}#&*!|>'\"%@`")
	set(chAnchorEnd, "?:,]}%@` \t\n\r")
	set(chNoAnchor, "[]{}, \t\n\r")
	set(chPlainTest, ": \t\n\r\x00")
	set(chFlowTest, ": \t\n\r\x00,?[]{}")
	set(chFlowEnd, ",?[]{}")
	set(chQuotedTest, "'\"\\ \t\n\r")
	return t
}()

func is(c byte, class uint16) bool { return classes[c]&class != 0 }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
