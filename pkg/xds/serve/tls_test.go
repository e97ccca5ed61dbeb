package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/edsctl/edsctl/pkg/xds"
)

// pair makes a self-signed certificate with its key, and the files that hold them.
func pair(t *testing.T) (cert tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, certFile, keyFile
}

// TestTLS fetches over gRPC and REST from a server that wants a client certificate, with and without one.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, serverFile, _ := pair(t)
	client, clientFile, keyFile := pair(t)
	pool := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(client.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(leaf)
	s := start(t, Options{TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}}, assignment("a", "127.0.0.1"))
	for _, transport := range []xds.Transport{xds.SotW, xds.REST} {
		o := options(s.addr)
		o.Transport, o.Service = transport, xds.ServiceEDS
		o.Dial.Plaintext, o.Dial.CACert = false, serverFile
		o.Dial.Cert, o.Dial.Key = clientFile, keyFile
		tr, err := xds.Fetch(t.Context(), o, []string{"a"}, func(*xds.Event) error { return nil })
		if err != nil || addressOf(tr, "a") != "127.0.0.1" {
			t.Errorf("%s with a certificate: %q, %v", transport, addressOf(tr, "a"), err)
		}
		o.Dial.Cert, o.Dial.Key = "", ""
		_, err = xds.Fetch(t.Context(), o, []string{"a"}, func(*xds.Event) error { return nil })
		failed, ok := err.(*xds.StreamError)
		if !ok {
			t.Errorf("%s without a certificate: %v", transport, err)
			continue
		}
		if cause, _ := xds.ExplainClose(failed, o); !strings.Contains(cause, "a client certificate") {
			t.Errorf("%s without a certificate: cause %q of %v", transport, cause, err)
		}
	}
}
