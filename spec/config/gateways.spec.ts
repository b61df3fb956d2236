import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { loadConfig, parseConfig } from '../../lib/config/load.ts'
import { configOf, firstListener, problemsOf } from '../support/config.ts'
import { CERT, KEY } from '../support/tls-pair.ts'

const gateways = suite('gateways')
const folder = mkdtempSync(join(tmpdir(), 'gateway-config-'))
const file = join(folder, 'c.yaml')
const other = generateKeyPairSync('ec', {
  namedCurve: 'prime256v1',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

gateways.before(() => {
  writeFileSync(join(folder, 'cert.pem'), CERT)
  writeFileSync(join(folder, 'key.pem'), KEY)
  writeFileSync(join(folder, 'other.pem'), other.privateKey)
})

gateways.after(() => rmSync(folder, { recursive: true }))

const TLS = 'tls: { cert: cert.pem, key: key.pem }'

function refusals(text: string): string[] {
  const lines = problemsOf(text, {}, file)
  return lines.map((line) => line.substring(file.length + 1))
}

gateways('have one listener by default', () => {
  const [gateway] = configOf('gateways: { web: { port: 3000 } }').gateways
  const { listeners, ...rest } = gateway!
  assert.equal(rest, { name: 'web', namespace: 'default', port: 3000, address: '::', limits: [] })
  const { policies, ...listener } = listeners[0]!
  const names = { key: 'gateway/web', name: 'web', hostname: '' }
  assert.equal(listener, { ...names, protocol: 'HTTP', tls: null, routes: [] })
  assert.ok(Object.values(policies).every((policy) => policy === null))
})

gateways('name listeners by name or index', () => {
  const listed = '[{ name: one, hostname: A.example.com }, { hostname: "*.example.com" }]'
  const [gateway] = configOf(
    `gateways: { web: { port: 1, address: 127.0.0.1, listeners: ${listed} } }`,
  ).gateways
  const shown = gateway!.listeners.map(({ key, name, hostname }) => [key, name, hostname])
  assert.equal(shown, [
    ['gateway/web/one', 'one', 'a.example.com'],
    ['gateway/web/listener1', 'listener1', '*.example.com'],
  ])
  assert.is(gateway!.address, '127.0.0.1')
})

gateways('need a port', () => {
  assert.equal(refusals('gateways:\n  web: { address: "::" }'), [
    '2:8: gateways.web.port is required',
  ])
  assert.equal(refusals('gateways:\n  web: { port: 65536 }\n  b: { port: -1 }'), [
    '2:16: gateways.web.port: got 65536, expected at most 65535',
    '3:14: gateways.b.port: got -1, expected at least 0',
  ])
})

gateways('need an address that is an IP address', () => {
  assert.equal(refusals('gateways: { web: { port: 1, address: localhost } }'), [
    "1:38: gateways.web.address: got 'localhost', expected an IP address",
  ])
})

gateways('need different ports', () => {
  const text = 'gateways:\n  a: { port: 80 }\n  b: { port: 81 }\n  c: { port: 80 }'
  assert.equal(refusals(text), [
    '4:14: gateways.c.port: port 80 is configured by both gateways.a and gateways.c,' +
      ' expected a port of its own for each',
  ])
})

gateways('need names without slashes', () => {
  assert.equal(refusals('gateways: { a/b: { port: 1 } }'), [
    '1:13: gateways["a/b"]: expected a name without slashes and spaces',
  ])
})

gateways('derive the protocol from tls and refuse contradictions', () => {
  const read = (fields: string) =>
    parseConfig(`gateways: { a: { port: 1, ${fields} } }`, { file, env: {} })
  assert.is(firstListener(read(TLS)).protocol, 'HTTPS')
  assert.is(firstListener(read(`protocol: HTTPS, ${TLS}`)).protocol, 'HTTPS')
  assert.is(firstListener(read('protocol: HTTP')).protocol, 'HTTP')
  assert.equal(refusals(`gateways: { a: { port: 1, protocol: HTTP, ${TLS} } }`), [
    '1:16: gateways.a: protocol HTTP cannot set tls',
  ])
  assert.equal(refusals('gateways: { a: { port: 1, protocol: HTTPS } }'), [
    '1:16: gateways.a: protocol HTTPS requires tls',
  ])
  assert.equal(refusals('gateways: { a: { port: 1, protocol: HTPS } }'), [
    "1:37: gateways.a.protocol: got 'HTPS', expected one of 'HTTP', 'HTTPS', did you mean 'HTTPS'?",
  ])
})

gateways('read certificates relative to the file, and never print a key', () => {
  writeFileSync(
    file,
    `gateways: { a: { port: 1, tls: { cert: cert.pem, key: ${folder}/key.pem, minTLSVersion: TLS_V1_3 } } }`,
  )
  const config = loadConfig([file], {})
  const { tls } = firstListener(config)
  assert.is(tls!.cert, CERT)
  assert.is(tls!.key.reveal(), KEY)
  assert.is(tls!.minVersion, 'TLSv1.3')
  assert.is(tls!.maxVersion, 'TLSv1.3')
  assert.equal(config.files, [join(folder, 'cert.pem'), join(folder, 'key.pem')])
  const shown = JSON.stringify(config)
  assert.match(shown, '"key":"<redacted>"')
  assert.not.match(shown, 'PRIVATE')
})

gateways('report certificate files that cannot be used', () => {
  assert.equal(refusals('gateways: { a: { port: 1, tls: { cert: no.pem, key: . } } }'), [
    "1:40: gateways.a.tls.cert: cannot read 'no.pem': no such file, expected a PEM file",
    "1:53: gateways.a.tls.key: cannot read '.': it is a folder, expected a PEM file",
  ])
  const [line] = refusals('gateways: { a: { port: 1, tls: { cert: cert.pem, key: other.pem } } }')
  assert.match(line!, /^1:32: gateways\.a\.tls: cannot use cert and key: .*mismatch/)
  assert.equal(refusals('gateways: { a: { port: 1, tls: { cert: cert.pem } } }'), [
    '1:32: gateways.a.tls.key is required',
  ])
})

gateways('refuse a minimum TLS version above the maximum', () => {
  const tls = '{ cert: cert.pem, key: key.pem, minTLSVersion: TLS_V1_3, maxTLSVersion: TLS_V1_2 }'
  assert.equal(refusals(`gateways: { a: { port: 1, tls: ${tls} } }`), [
    '1:32: gateways.a.tls: got minTLSVersion above maxTLSVersion, expected it to be at most that version',
  ])
  const old = '{ cert: cert.pem, key: key.pem, minTLSVersion: TLS_V1_1 }'
  assert.match(
    refusals(`gateways: { a: { port: 1, tls: ${old} } }`)[0]!,
    "got 'TLS_V1_1', expected one of",
  )
})

gateways('allow only port, address and namespace next to listeners', () => {
  const text = `gateways: { a: { port: 1, protocol: HTTPS, ${TLS}, listeners: [{}] } }`
  assert.equal(refusals(text), [
    '1:27: gateways.a.protocol: got protocol next to listeners, expected only port, address and namespace',
    '1:44: gateways.a.tls: got tls next to listeners, expected only port, address and namespace',
  ])
  assert.equal(refusals('gateways: { a: { port: 1, listeners: [] } }'), [
    '1:38: gateways.a.listeners: got an empty list, expected at least one entry',
  ])
})

gateways('need listeners with different names and hostnames and one protocol', () => {
  const listeners = `[{ name: x }, { name: x, hostname: b.c }, { hostname: b.c, ${TLS} }]`
  assert.equal(refusals(`gateways: { a: { port: 1, listeners: ${listeners} } }`), [
    "1:52: gateways.a.listeners[1]: got a second listener named 'x', expected names to differ",
    '1:80: gateways.a.listeners[2]: got the hostname of another listener, expected hostnames to differ',
    '1:80: gateways.a.listeners[2]: got HTTP and HTTPS on one port, expected one protocol for all listeners',
  ])
})

gateways('need hostnames that are exact or start with a star', () => {
  for (const hostname of ['*', 'a.*.b', '*a.b', 'a:80', 'http://a', '.a', 'a..b', ''])
    assert.equal(
      refusals(`gateways: { a: { port: 1, listeners: [{ hostname: '${hostname}' }] } }`),
      [
        `1:51: gateways.a.listeners[0].hostname: got '${hostname}',` +
          ' expected a hostname such as a.example.com or *.example.com',
      ],
    )
})

gateways('are required', () => {
  assert.equal(refusals('routes: []'), [
    '1:1: got no gateways, expected at least one: nothing would listen',
  ])
})

gateways.run()
