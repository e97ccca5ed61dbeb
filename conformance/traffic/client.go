package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// The outcomes of a request that reached no endpoint.
const (
	unavailable = "no healthy upstream"
	dropped     = "dropped"
)

// send makes requests over one connection, up to ahead of them before the answer: Envoy takes them one after the other,
// but closes the connection when it answers one by itself while others wait. path and key belong to a request; got has
// the endpoint or the outcome.
func send(address string, n, ahead int, path string, key func(i int) string, got func(i int, outcome string)) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		return err
	}
	w, r := bufio.NewWriter(conn), bufio.NewReader(conn)
	sent := 0
	for i := range n {
		if sent < n && sent-i <= ahead/2 {
			for ; sent < n && sent < i+ahead; sent++ {
				fmt.Fprintf(w, "GET %s HTTP/1.1\r\nhost: x\r\nx-key: %s\r\n\r\n", path, key(sent))
			}
			if err := w.Flush(); err != nil {
				return err
			}
		}
		outcome, err := receive(r)
		if err != nil {
			return fmt.Errorf("request %d of %s: %w", i, path, err)
		}
		got(i, outcome)
	}
	return nil
}

// receive reads one response.
func receive(r *bufio.Reader) (string, error) {
	status, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	endpoint, length := "", 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.ToLower(name) {
		case "x-endpoint":
			endpoint = value
		case "content-length":
			if length, err = strconv.Atoi(value); err != nil {
				return "", err
			}
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return "", err
	}
	switch text := string(body); {
	case strings.HasPrefix(status, "HTTP/1.1 200"):
		return endpoint, nil
	case strings.Contains(text, "drop overload"):
		return dropped, nil
	case text == unavailable:
		return unavailable, nil
	default:
		return "", fmt.Errorf("%s %s", strings.TrimSpace(status), text)
	}
}
