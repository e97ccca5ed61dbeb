package main

import (
	"bufio"
	"fmt"
	"net"
)

// backends answer on every loopback address at one port and say which address was asked.
type backends struct {
	listener net.Listener
	port     int
}

func listenBackends() (*backends, error) {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		return nil, err
	}
	b := &backends{listener: l, port: l.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			go answer(conn)
		}
	}()
	return b, nil
}

func (b *backends) close() { _ = b.listener.Close() }

// answer reads requests without a body, one after the other.
func answer(conn net.Conn) {
	defer conn.Close()
	response := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nx-endpoint: %s\r\ncontent-length: 0\r\n\r\n", conn.LocalAddr())
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(line) > 2 {
			continue
		}
		if _, err := conn.Write(response); err != nil {
			return
		}
	}
}
