import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { McpTarget } from '../../lib/config/backend-types.ts'
import type { BackendConfig } from '../../lib/config/config-types.ts'
import { ungatedConfig, ungatedProblems } from '../support/config.ts'

const STDIO = '{ name: everything, stdio: { cmd: npx, args: [-y, everything] } }'

const mcp = suite('mcp')

function backendOf(text: string): BackendConfig & { kind: 'mcp' } {
  const backend = ungatedConfig(text).gateways[0]!.listeners[0]!.routes[0]!.backends[0]!
  assert.ok(backend.kind === 'mcp')
  return backend
}

mcp('warns if all interfaces can use it without authentication', () => {
  const warningsOf = (fields: string): readonly string[] =>
    ungatedConfig(`mcp: { targets: [${STDIO}]${fields} }`).warnings
  const warning =
    'c.yaml:1:6: mcp listens on all interfaces without authentication: set mcp.address, such as 127.0.0.1, or add authentication to mcp.policies'
  const keys = 'apiKey: { keys: [{ key: k }]'
  for (const open of ['', ', port: 1', `, policies: { ${keys} } }`])
    assert.equal(warningsOf(open), [warning])
  for (const closed of [
    ', address: 127.0.0.1',
    ', address: "::"',
    `, policies: { ${keys}, mode: strict } }`,
  ])
    assert.equal(warningsOf(closed), [])
  const attached = `gateways: { default: { port: 1 } }\nmcp: { targets: [${STDIO}] }`
  assert.equal(ungatedConfig(attached).warnings, [])
  const token =
    'mcpAuthentication: { issuer: "http://i", audiences: [a], resourceMetadata: { resource: "http://g/mcp" } }'
  assert.equal(warningsOf(`, policies: { ${token} }`), [])
  const llm = 'llm: { models: [{ name: m, provider: mock }] }'
  assert.match(ungatedConfig(llm).warnings[0]!, 'set llm.address, such as 127.0.0.1')
})

mcp('has its own port and serves any path there', () => {
  const { gateways } = ungatedConfig(`mcp: { targets: [${STDIO}] }`)
  const [{ name, port, address, listeners }] = gateways as [(typeof gateways)[0]]
  assert.equal([name, port, address], ['mcp', 3000, '::'])
  const { key, routes } = listeners[0]!
  assert.is(key, 'mcp')
  assert.is(routes[0]!.key, 'mcp:default')
  assert.equal(routes[0]!.matches[0]!.path, { kind: 'prefix', value: '/' })
  assert.is(ungatedConfig(`mcp: { port: 1, targets: [${STDIO}] }`).gateways[0]!.port, 1)
})

mcp('attaches to the gateways that it names, or to the gateway named default', () => {
  const attached = `gateways: { default: { port: 1 }, b: { port: 2 } }\nmcp: { targets: [${STDIO}]`
  const keys = (text: string) =>
    ungatedConfig(text).gateways.flatMap(({ listeners }) =>
      listeners.flatMap(({ routes }) => routes.map(({ key }) => key)),
    )
  assert.equal(keys(`${attached} }`), ['gateway/default/default/mcp:default'])
  assert.equal(keys(`${attached}, gateways: b }`), ['gateway/b/default/mcp:default'])
  const { matches } = ungatedConfig(`${attached} }`).gateways[0]!.listeners[0]!.routes[0]!
  const paths = matches.map(({ path }) => path.value)
  assert.equal(paths, ['/mcp', '/sse', '/.well-known'])
  assert.equal(keys(`${attached}, port: 3 }`), ['mcp:default'])
})

mcp('refuses a port together with gateways, a port in use, and an unknown gateway', () => {
  const two = 'gateways: { a: { port: 1 } }\n'
  assert.equal(ungatedProblems(`${two}mcp: { port: 2, gateways: a, targets: [${STDIO}] }`), [
    'mcp.port: got port and gateways, expected one of them',
  ])
  assert.equal(ungatedProblems(`${two}mcp: { port: 1, targets: [${STDIO}] }`), [
    'mcp.port: port 1 is configured by both gateways.a and mcp, expected a port of its own for each',
  ])
  assert.equal(ungatedProblems(`${two}mcp: { gateways: [a, bb], targets: [${STDIO}] }`), [
    'mcp.gateways[1]: unknown gateway reference bb, expected one of a',
  ])
})

mcp('gives the same configuration as an mcp backend of a route', () => {
  const backend = backendOf(
    `gateways: { default: { port: 1 } }\nroutes: [{ backends: [{ mcp: { targets: [${STDIO}] } }] }]`,
  )
  assert.equal(backend.mcp, backendOf(`mcp: { targets: [${STDIO}] }`).mcp)
  assert.equal(backend.mcp, {
    targets: [
      {
        name: 'everything',
        kind: 'stdio',
        cmd: 'npx',
        args: ['-y', 'everything'],
        env: {},
        clearEnv: false,
        inheritEnv: false,
      },
    ],
    statefulMode: 'stateful',
    prefixMode: 'conditional',
    failureMode: 'failOpen',
    dnsRebindingProtection: null,
  })
})

const remote = (fields: string): McpTarget & { kind: 'mcp' | 'sse' } => {
  const target = backendOf(`mcp: { targets: [{ name: a, ${fields} }] }`).mcp.targets[0]!
  assert.ok(target.kind !== 'stdio')
  return target
}

mcp('keeps environment variables of child processes as secrets', () => {
  const text = 'mcp: { targets: [{ name: a, stdio: { cmd: x, env: { TOKEN: hush, EMPTY: "" } } }] }'
  const { mcp: config } = backendOf(text)
  const [target] = config.targets
  assert.ok(target?.kind === 'stdio')
  assert.is(target.env['TOKEN']!.reveal(), 'hush')
  assert.not.match(JSON.stringify(config), 'hush')
})

mcp('accepts remote targets as a URL or as host, port and path', () => {
  const locationOf = ({ kind, host, port, path, tls }: ReturnType<typeof remote>) =>
    `${kind} ${tls === null ? 'http' : 'https'} ${host} ${port} ${path}`
  assert.is(
    locationOf(remote('mcp: { host: "https://a.com/x?y=1" }')),
    'mcp https a.com 443 /x?y=1',
  )
  assert.is(locationOf(remote('mcp: { host: "http://[::1]:81" }')), 'mcp http ::1 81 /mcp')
  assert.is(locationOf(remote('sse: { host: a.com, port: 82 }')), 'sse http a.com 82 /sse')
  assert.is(locationOf(remote('mcp: { host: a, port: 1, path: /m }')), 'mcp http a 1 /m')
  const { auth } = remote('mcp: { host: "http://a" }, policies: { backendAuth: { key: hush } }')
  assert.ok(auth?.kind === 'header' && auth.key.reveal() === 'hush')
  assert.is(auth.prefix, 'Bearer ')
})

function targetProblems(target: string): string[] {
  return ungatedProblems(`mcp: { targets: [${target}] }`).map((line) =>
    line.replace('mcp.targets[0]', '').replace(/^[:.] ?/, ''),
  )
}

mcp('refuses targets without a kind, with two kinds and with an unknown kind', () => {
  const kinds = "expected exactly one of 'stdio', 'mcp', 'sse'"
  assert.equal(targetProblems('{ name: a }'), [`got none, ${kinds}`])
  assert.equal(targetProblems('{ name: a, stdio: { cmd: x }, mcp: { host: "http://a" } }'), [
    `got stdio and mcp, ${kinds}`,
  ])
  assert.match(targetProblems('{ name: a, stdoi: { cmd: x } }')[0]!, "did you mean 'stdio'?")
  assert.ok(
    targetProblems('{ name: a, openapi: { host: a } }').includes('openapi: is not supported'),
  )
})

mcp('refuses target names that are ambiguous in tool names', () => {
  for (const name of ['a_b', 'a+b', 'A', '-a', 'a-', ''])
    assert.match(targetProblems(`{ name: '${name}', stdio: { cmd: x } }`)[0]!, `got '${name}', exp`)
  assert.equal(ungatedProblems(`mcp: { targets: [${STDIO}, ${STDIO}] }`), [
    "mcp.targets[1].name: got a second target named 'everything', expected names to differ",
  ])
})

mcp('refuses invalid commands, policies and addresses of targets', () => {
  assert.equal(targetProblems('{ name: a, stdio: {} }'), ['stdio.cmd is required'])
  assert.equal(targetProblems('{ name: a, stdio: { cmd: "x\\0" } }'), [
    'stdio.cmd: got a zero byte, expected none',
  ])
  assert.equal(targetProblems('{ name: a, stdio: { cmd: x }, policies: {} }'), [
    'policies: got policies of a stdio target, expected them on remote targets only',
  ])
  const response = 'transformations: { response: { remove: [x-a] } }'
  assert.equal(
    targetProblems(`{ name: a, mcp: { host: "http://a" }, policies: { ${response} } }`),
    [
      'policies.transformations.response: got response, expected request only: clients get the messages of a target, not its headers',
    ],
  )
  assert.equal(targetProblems('{ name: a, mcp: { host: a.com } }'), [
    'mcp: got a host without port, expected a URL or a port',
  ])
  assert.equal(targetProblems('{ name: a, mcp: { host: "http://a", port: 1 } }'), [
    'mcp: got port or path next to a URL, expected them in the URL',
  ])
})

mcp('refuses unknown values and suggests the nearest one', () => {
  assert.equal(ungatedProblems(`mcp: { prefixMode: allways, targets: [${STDIO}] }`), [
    "mcp.prefixMode: got 'allways', expected one of 'conditional', 'always', 'never', did you mean 'always'?",
  ])
  assert.equal(ungatedProblems('mcp: { targets: [] }'), [
    'mcp.targets: got an empty list, expected at least one entry',
  ])
  assert.equal(ungatedProblems('mcp: {}'), ['mcp.targets is required'])
})

mcp.run()
