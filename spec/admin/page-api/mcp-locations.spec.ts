// The addresses of MCP backends for clients, derived from the configuration.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { listMcpLocations } from '../../../lib/admin/page-api/mcp-locations.ts'
import { destinationOf } from '../../../lib/admin/playground/listener-destination.ts'
import { configOf } from '../../support/config.ts'
import { PemFiles } from '../../support/pem-files.ts'

const MCP = '{ mcp: { targets: [{ name: a, stdio: { cmd: x } }] } }'

const test = suite('ui/mcp-locations')

/** `path hostname` of each backend of one gateway with these routes, in flow form without brackets. */
function found(routes: string, gateway = 'port: 3000'): string[] {
  const text = `gateways: { default: { ${gateway} } }\nroutes: [${routes}]\n`
  return listMcpLocations(configOf(text)).map(({ path, hostname }) => `${path} ${hostname}`)
}

function route(fields: string): string {
  return `{ name: r, backends: [${MCP}]${fields === '' ? '' : `, ${fields}`} }`
}

test('the path is that of the route, or /mcp where any path matches', () => {
  assert.equal(found(route('')), ['/mcp '])
  const at = (path: string): string[] => found(route(`matches: [{ path: { ${path} } }]`))
  assert.equal(at('pathPrefix: /tools'), ['/tools '])
  assert.equal(at('exact: /one'), ['/one '])
  assert.equal(at("regex: '/m.p'"), ['/mcp '])
  const several = 'matches: [{ path: { pathPrefix: /sse } }, { path: { pathPrefix: /x } }]'
  assert.equal(found(route(several)), ['/x '])
})

test('includes the section mcp', () => {
  const target = 'targets: [{ name: a, stdio: { cmd: x } }]'
  const text = `gateways: { default: { port: 3000 } }\nmcp: { ${target} }\n`
  const [place] = listMcpLocations(configOf(text))
  assert.is(place?.path, '/mcp')
  const own = listMcpLocations(configOf(`mcp: { port: 3001, ${target} }\n`))
  assert.equal(
    own.map(({ gateway, path }) => [gateway.port, path]),
    [[3001, '/mcp']],
  )
})

test('a protected backend is at the path of its resource', () => {
  const auth = `{ mode: strict, issuer: 'https://idp.example', audiences: [a], resourceMetadata: { resource: 'https://x.example/team/mcp' } }`
  assert.equal(found(route(`policies: { mcpAuthentication: ${auth} }`)), ['/team/mcp '])
})

test('a prefix matches whole segments', () => {
  const at = (resource: string): string[] => {
    const auth = `{ mode: strict, issuer: 'https://idp.example', audiences: [a], resourceMetadata: { resource: 'https://x.example${resource}' } }`
    const match = 'matches: [{ path: { pathPrefix: /tools } }]'
    return found(route(`${match}, policies: { mcpAuthentication: ${auth} }`))
  }
  assert.equal(at('/tools/x'), ['/tools/x '])
  assert.equal(at('/toolsx'), ['/tools '])
})

test('the host name is that of the route, else of the listener, with its wildcard replaced', () => {
  assert.equal(found(route('hostnames: [a.example.com]')), ['/mcp a.example.com'])
  assert.equal(found(route("hostnames: ['*.example.com', b.example.com]")), ['/mcp b.example.com'])
  assert.equal(found(route("hostnames: ['*.example.com']")), ['/mcp gateway.example.com'])
  const listeners = 'port: 3000, listeners: [{ name: l, protocol: HTTP, hostname: l.example.com }]'
  assert.equal(found(route(''), listeners), ['/mcp l.example.com'])
})

test('the gateway reaches itself over loopback, or at its bind address', () => {
  const to = (gateway: string): string => {
    const text = `gateways: { default: { port: 3000${gateway} } }\nroutes: [${route('')}]\n`
    const { protocol, address, port, authority } = destinationOf(
      listMcpLocations(configOf(text))[0]!,
    )
    return `${protocol}//${address} ${port} ${authority}`
  }
  assert.is(to(''), 'http://127.0.0.1 3000 localhost:3000')
  assert.is(to(', address: 0.0.0.0'), 'http://127.0.0.1 3000 localhost:3000')
  assert.is(to(", address: '::1'"), 'http://::1 3000 localhost:3000')
  assert.is(to(', address: 192.0.2.7'), 'http://192.0.2.7 3000 localhost:3000')
  const pem = new PemFiles()
  const listener = `{ name: l, protocol: HTTPS, hostname: l.example.com, tls: { cert: ${pem.cert}, key: ${pem.key} } }`
  assert.is(to(`, listeners: [${listener}]`), 'https://127.0.0.1 3000 l.example.com:3000')
  pem.close()
})

test.run()
