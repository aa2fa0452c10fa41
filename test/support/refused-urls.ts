/** Addresses that no request may go to, in every spelling that a URL knows, and texts that are no address of the web. */
export const refusedUrls: readonly string[] = [
  // loopback in every spelling that a URL knows
  'http://127.0.0.1/', 'http://127.1/', 'http://127.0.1/', 'http://0x7f.1/', 'http://0x7f000001/', 'http://2130706433/', 'http://017700000001/', 'http://0177.0.0.1/', 'http://127.255.255.254/',
  'http://0/', 'http://0.0.0.0/', 'http://①②⑦.0.0.1/', 'http://１２７.0.0.1/', 'http://127。0。0。1/', 'http://127.0.0.1./', 'http://%31%32%37.0.0.1/',
  'http://localhost/', 'http://LOCALHOST/', 'http://localhost./', 'http://foo.localhost/', 'http://ⓛocalhost/',
  'http://[::1]/', 'http://[::]/', 'http://[0:0:0:0:0:0:0:1]/', 'http://[0000::0001]/', 'http://[::127.0.0.1]/',
  // an IPv4 address within an IPv6 one
  'http://[::ffff:127.0.0.1]/', 'http://[::ffff:7f00:1]/', 'http://[::ffff:10.0.0.1]/', 'http://[0:0:0:0:0:ffff:a00:1]/', 'http://[64:ff9b::7f00:1]/', 'http://[64:ff9b::10.0.0.1]/',
  'http://[64:ff9b:1::1]/', 'http://[2002:7f00:1::]/', 'http://[2002:a00:1::1]/', 'http://[::ffff:0:127.0.0.1]/', 'http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
  // private, shared, link-local, documentation, multicast, reserved
  'http://10.0.0.1/', 'http://10.255.255.255/', 'http://172.16.0.1/', 'http://172.31.255.255/', 'http://192.168.1.1/', 'http://100.64.0.1/', 'http://100.127.255.255/', 'http://169.254.169.254/latest/meta-data/',
  'http://192.0.0.1/', 'http://192.0.2.1/', 'http://192.88.99.1/', 'http://198.18.0.1/', 'http://198.19.255.255/', 'http://198.51.100.1/', 'http://203.0.113.1/', 'http://224.0.0.1/', 'http://240.0.0.1/',
  'http://255.255.255.255/', 'http://[fd00::1]/', 'http://[fc00::1]/', 'http://[fe80::1]/', 'http://[febf::1]/', 'http://[fec0::1]/', 'http://[ff02::1]/', 'http://[100::1]/', 'http://[2001:db8::1]/', 'http://[3fff::1]/',
  'http://[5f00::1]/', 'http://[2001:10::1]/',
  // names that stay inside
  'http://intranet/', 'http://printer.local/', 'http://metadata.google.internal/', 'http://host.localdomain/', 'http://router.home.arpa/', 'http://nas.lan/',
  // not what they seem, or not for the web
  'file:///etc/passwd', 'gopher://example.com/', 'ftp://example.com/', 'javascript:alert(1)', 'data:text/plain,x', 'redis://public.example.com/', 'ws://public.example.com/', '//public.example.com/', 'public.example.com', '',
  'http://user@public.example.com/', 'http://user:pass@public.example.com/', 'http://@public.example.com/', 'http://public.example.com@127.0.0.1/', 'http://127.0.0.1#@public.example.com/',
  'http://public.example.com:6379/', 'http://public.example.com:22/', 'http://public.example.com:8080/', 'https://public.example.com:5432/', 'http://public.example.com:99999/',
  'http://public.example.com/\r\nX-Injected: 1', 'http://public.example.com/\tpath', ' http://public.example.com/', 'http://public.example.com/ x', 'http:\\\\127.0.0.1\\', 'http://public.example.com\\@127.0.0.1/', 'http://pub\u0000lic.example.com/',
  'http://public.example.com\u2028/', `http://public.example.com/${'a'.repeat(2048)}`, 'http://[::1%25eth0]/', 'http://[fe80::1%25lo]/', 'http://256.256.256.256/', 'http://a..b.example.com/',
];
