// The dump: the configuration in force, in the form of the file, and never a secret.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildConfigDump } from '../../lib/admin/config-dump.ts'
import type { ConfigDumpSource } from '../../lib/admin/config-dump.ts'
import type { AdminAddress } from '../../lib/config/config-types.ts'
import { ADDRESSES, at, dumpOf, sourceOf } from '../support/dump.ts'
import type { Shown } from '../support/dump.ts'
import { Folder } from '../support/folder.ts'
import { CERT, KEY, OTHER_CERT, OTHER_KEY } from '../support/tls-pair.ts'

const GATEWAY = 'gateways: { default: { port: 3000, address: 127.0.0.1 } }\n'

/** The one route of the one listener, without parts that other tests cover. */
function routeDump(fields: string): Shown {
  const dump = dumpOf(`${GATEWAY}routes: [{ name: r, ${fields} }]\n`)
  return at(dump, 'binds', 0, 'listeners', 'gateway/default', 'routes', ROUTE) as Shown
}

const ROUTE = 'gateway/default/default/r'
const BACKENDS = 'backends: [{ host: localhost:8080 }]'

function policyDump(policies: string): unknown {
  return routeDump(`${BACKENDS}, policies: { ${policies} }`)['inlinePolicies']
}

const test = suite('admin/config-dump')

test('has the generation and the time of the configuration in force', () => {
  const dump = dumpOf(`${GATEWAY}routes: [{ ${BACKENDS} }]\n`)
  assert.is(dump['generation'], 7)
  assert.is(dump['loadedAt'], '2026-11-15T04:00:00.000Z')
  assert.not.ok('lastRefusedReload' in dump)
  assert.equal(Object.keys(dump['version'] as Shown), ['version', 'node'])
  for (const list of ['workloads', 'services', 'policies']) assert.equal(dump[list], [])
})

test('shows the listeners and policies of the web UI', () => {
  assert.not.ok('ui' in dumpOf(`${GATEWAY}routes: [{ ${BACKENDS} }]\n`))
  const dump = dumpOf(
    `${GATEWAY}ui: { policies: { basicAuth: { htpasswd: 'a:secret', realm: ops } } }\n`,
  )
  assert.equal(at(dump, 'ui', 'listeners'), ['gateway/default'])
  const [policy] = at(dump, 'ui', 'inlinePolicies') as Shown[]
  assert.is(at(policy!, 'basicAuth', 'realm'), 'ops')
  assert.not.match(JSON.stringify(dump), 'secret')
})

test('shows why the last reload was refused', () => {
  const at = new Date('2026-11-15T05:00:00Z')
  const source = sourceOf(`${GATEWAY}routes: [{ ${BACKENDS} }]\n`)
  const dump = buildConfigDump({
    ...source,
    refusal: { at, problems: ['c.yaml:1:1: a', 'b'] },
  }) as Shown
  assert.equal(dump['lastRefusedReload'], {
    at: '2026-11-15T05:00:00.000Z',
    problems: ['c.yaml:1:1: a', 'b'],
  })
})

test('shows binds with their listeners and routes, and backends separately', () => {
  const dump = dumpOf(`${GATEWAY}routes:
- name: r
  hostnames: [A.example.com]
  backends: [{ host: '[::1]:8080', weight: 3 }, { host: 'unix:/run/app.sock' }]
`)
  assert.equal(dump['binds'], [
    {
      key: 'bind/3000',
      address: '127.0.0.1:3000',
      protocol: 'http',
      tunnelProtocol: 'direct',
      mode: 'standard',
      listeners: {
        'gateway/default': {
          key: 'gateway/default',
          gatewayName: 'default',
          gatewayNamespace: 'default',
          listenerName: 'default',
          hostname: '',
          protocol: 'HTTP',
          routes: {
            [ROUTE]: {
              key: ROUTE,
              name: 'r',
              namespace: 'default',
              hostnames: ['a.example.com'],
              matches: [{ path: { pathPrefix: '/' }, headers: [], query: [] }],
              backends: [
                { weight: 3, backend: `${ROUTE}/backend0` },
                { weight: 1, backend: `${ROUTE}/backend1` },
              ],
              inlinePolicies: [],
            },
          },
          inlinePolicies: [],
        },
      },
      inlinePolicies: [],
    },
  ])
  const backend = (index: number, target: string): unknown => ({
    backend: { host: { name: `${ROUTE}/backend${index}`, namespace: 'default', target } },
    inlinePolicies: [],
    requests: 0,
    health: null,
    latencyMs: null,
  })
  assert.equal(dump['backends'], [backend(0, '[::1]:8080'), backend(1, 'unix:/run/app.sock')])
})

test('shows the statistics of each backend', () => {
  const statusOf: ConfigDumpSource['statusOf'] = (key) =>
    key.endsWith('backend0') ? { requests: 3, health: 2 / 3, latencyMs: 1.23456 } : null
  const text = 'routes: [{ backends: [{ host: a:1 }, { host: b:2 }] }]'
  const dump = buildConfigDump({ ...sourceOf(`${GATEWAY}${text}`), statusOf })
  const { backend: _backend, inlinePolicies: _none, ...status } = at(dump, 'backends', 0) as Shown
  assert.equal(status, { requests: 3, health: 0.667, latencyMs: 1.235 })
})

test('shows matches in the form of the file', () => {
  const { matches } = routeDump(`${BACKENDS}, matches: [
    { path: { exact: /a }, method: GET, headers: [{ name: X-Env, value: { exact: dev } }] },
    { path: { regex: '/v[0-9]+' }, query: [{ name: q, value: { regex: '1|2' } }] }]`)
  assert.equal(matches, [
    {
      path: { exact: '/a' },
      method: 'GET',
      headers: [{ name: 'x-env', value: { exact: 'dev' } }],
      query: [],
    },
    { path: { regex: '/v[0-9]+' }, headers: [], query: [{ name: 'q', value: { regex: '1|2' } }] },
  ])
})

test('shows policies in the form of the file, including durations', () => {
  assert.equal(
    policyDump(`requestHeaderModifier: { add: { x-a: '1' }, set: { x-b: '2' }, remove: [x-c] },
      urlRewrite: { path: { prefix: /new }, authority: { host: other.example } },
      timeout: { requestTimeout: 90s, backendRequestTimeout: 500ms },
      retry: { attempts: 2, backoff: 1500ms, codes: [503] }`),
    [
      { requestHeaderModifier: { add: { 'x-a': '1' }, set: { 'x-b': '2' }, remove: ['x-c'] } },
      { urlRewrite: { authority: { host: 'other.example' }, path: { prefix: '/new' } } },
      { timeout: { requestTimeout: '90s', backendRequestTimeout: '500ms' } },
      { retry: { attempts: 2, backoff: '1500ms', codes: [503] } },
    ],
  )
  assert.equal(
    policyDump('requestRedirect: { scheme: https, authority: { port: 8443 }, status: 308 }'),
    [{ requestRedirect: { scheme: 'https', authority: { port: 8443 }, status: 308 } }],
  )
  assert.equal(policyDump("directResponse: { status: 200, body: hi, headers: { x-a: '1' } }"), [
    { directResponse: { status: 200, body: 'hi', headers: { 'x-a': '1' } } },
  ])
  const [cors] = policyDump('cors: { allowOrigins: ["*"], maxAge: 1h }') as Shown[]
  assert.is(at(cors, 'cors', 'maxAge'), '1h')
})

const MCP_SHOWN = {
  sessionTtl: '90s',
  goneTtl: '5m',
  maxSessions: 10000,
  maxSessionsPerClient: 5000,
  maxChildren: 256,
  maxChildrenPerClient: 128,
  startTimeout: '30s',
  listTimeout: '10s',
  maxRequestBytes: 4194304,
  maxReadTogether: 268435456,
  maxMessageBytes: 16777216,
  keepAlive: '15s',
}

const LLM_SHOWN = {
  maxHeldBytes: 9000,
  maxHeldTogether: 268435456,
  maxKeptBytes: 4194304,
  firstByteTimeout: '1m',
}

test('shows process settings by their names in the file', () => {
  const text = `config:
  connectionTerminationDeadline: 90s
  sensitiveHeaders: [X-Mine]
  logging: { level: [warn, accept=debug], format: json }
  backend: { poolMaxSize: 5 }
  mcp: { sessionTtl: 90s }
  llm: { maxHeldBytes: 9000 }
frontendPolicies: { http: { http1IdleTimeout: 1m, http2MaxStreams: 9 }, tls: { handshakeTimeout: 2s } }
${GATEWAY}routes: [{ ${BACKENDS} }]
`
  const admin: AdminAddress = { kind: 'unix', path: '/run/a.sock' }
  const dump = buildConfigDump({ ...sourceOf(text), addresses: { ...ADDRESSES, admin } }) as Shown
  assert.equal(dump['config'], {
    file: 'c.yaml',
    workers: 1,
    adminAddr: 'unix:/run/a.sock',
    statsAddr: 'localhost:15020',
    readinessAddr: 'off',
    logging: { level: 'warn,accept=debug', format: 'json' },
    sensitiveHeaders: ['x-mine'],
    trace: { maxBodyBytes: 2_097_152, maxWatchers: 32, redactBodies: [] },
    maxBytesInFlight: 536_870_912,
    rateLimit: { maxKeys: 65_536 },
    ui: { maxReaders: 32 },
    connectionTerminationDeadline: '90s',
    backend: {
      connectTimeout: '10s',
      poolIdleTimeout: '90s',
      poolMaxAge: '10m',
      poolMaxSize: 5,
      poolMaxWaiting: 4096,
      bodyIdleTimeout: '10m',
      responseHeadTimeout: '1m',
    },
    mcp: MCP_SHOWN,
    llm: LLM_SHOWN,
  })
  assert.equal(dump['frontendPolicies'], {
    http: {
      normalizePath: 'merge',
      maxHeadBytes: 32768,
      maxBodyBytes: null,
      headTimeout: '30s',
      bodyIdleTimeout: '1m',
      responseIdleTimeout: '2m',
      maxConnections: 65536,
      maxConnectionsPerAddress: 16384,
      headersWithUnderscores: 'drop',
      http1MaxHeaders: 128,
      http1IdleTimeout: '1m',
      http2MaxStreams: 9,
    },
    tls: { handshakeTimeout: '2s' },
  })
})

test('shows every form of the admin address', () => {
  const source = sourceOf(`${GATEWAY}routes: [{ ${BACKENDS} }]\n`)
  const shown = (admin: AdminAddress): unknown =>
    at(buildConfigDump({ ...source, addresses: { ...ADDRESSES, admin } }), 'config', 'adminAddr')
  assert.is(shown(ADDRESSES.admin), 'localhost:15000')
  assert.is(shown({ kind: 'off' }), 'off')
  assert.is(shown({ kind: 'tcp', host: '127.0.0.1', port: 1 }), '127.0.0.1:1')
  assert.is(shown({ kind: 'tcp', host: '::1', port: 1 }), '[::1]:1')
})

test('shows policy resources in the form of the file, with their status', () => {
  const dump = dumpOf(`${GATEWAY}routes: [{ name: r, ${BACKENDS} }]
---
apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: quota }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: nowhere }]
  traffic: { rateLimit: { local: [{ requests: 5, unit: Minutes }] } }
`)
  const [policy] = dump['policies'] as Shown[]
  assert.is(policy?.['kind'], 'GatewayPolicy')
  assert.is(at(policy, 'metadata', 'name'), 'quota')
  assert.is(at(policy, 'spec', 'targetRefs', 0, 'kind'), 'HTTPRoute')
  assert.is(at(policy, 'spec', 'traffic', 'rateLimit', 'local', 0, 'requests'), 5)
  const conditions = at(policy, 'status', 'ancestors', 0, 'conditions') as Shown[]
  assert.ok(conditions.some(({ type, status }) => type === 'Attached' && status === 'False'))
})

test('shows a certificate by its name and fingerprint', () => {
  const folder = new Folder()
  try {
    folder.write('cert.pem', CERT)
    folder.write('key.pem', KEY)
    const text = `gateways: { default: { port: 3000, tls: { cert: cert.pem, key: key.pem } } }
routes: [{ ${BACKENDS} }]
`
    const dump = buildConfigDump(sourceOf(text, {}, folder.at('c.yaml')))
    assert.is(at(dump, 'binds', 0, 'protocol'), 'tls')
    const tls = at(dump, 'binds', 0, 'listeners', 'gateway/default', 'protocol', 'HTTPS') as Shown
    assert.is(at(tls, 'cert', 'subject'), 'CN=localhost')
    assert.match(String(at(tls, 'cert', 'fingerprint256')), /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)
    assert.is(tls['key'], '<redacted>')
    assert.is(tls['minVersion'], 'TLSv1.2')
  } finally {
    folder.close()
  }
})

test('shows no secret of any field that can hold one', () => {
  const folder = new Folder()
  try {
    // Some tools write certificate and key into one file.
    folder.write('cert.pem', CERT + KEY)
    folder.write('key.pem', KEY)
    folder.write('client.pem', OTHER_CERT + OTHER_KEY)
    folder.write('client-key.pem', OTHER_KEY)
    const secret = (where: string): string => `s3cret-${where}`
    const text = `config: { sensitiveHeaders: [X-Mine] }
gateways: { default: { port: 3000, tls: { cert: cert.pem, key: key.pem } } }
routes:
- name: r
  matches:
  - headers:
    - { name: authorization, value: { exact: Bearer ${secret('match')} } }
    - { name: x-mine, value: { regex: ${secret('regex')} } }
    query: [{ name: api_key, value: { exact: ${secret('query')} } }]
  backends: [{ host: localhost:8080 }]
  policies:
    requestHeaderModifier:
      add: { Authorization: 'Bearer \${TOKEN}', x-callback: 'https://u:${secret('userinfo')}@a.example/?token=${secret('parameter')}' }
      set: { X-Mine: '\${TOKEN}', x-api-key: ${secret('key')} }
    responseHeaderModifier: { set: { Set-Cookie: a=${secret('cookie')} } }
    backendTLS: { root: cert.pem, cert: client.pem, key: client-key.pem }
- name: direct
  matches: [{ path: { exact: /direct } }]
  policies: { directResponse: { status: 200, headers: { Cookie: ${secret('direct')}, x-mine: ${secret('mine')} } } }
`
    const source = sourceOf(text, { TOKEN: secret('variable') }, folder.at('c.yaml'))
    const json = JSON.stringify(buildConfigDump(source))
    assert.not.match(json, /s3cret/)
    assert.not.match(json, /PRIVATE KEY/)
    for (const line of (KEY + OTHER_KEY).split('\n').filter((each) => each.length > 20))
      assert.not.ok(json.includes(line))
    assert.ok(json.includes('https://<redacted>@a.example/?token=<redacted>'))
    assert.ok(json.includes('"x-mine":"<redacted>"'))
  } finally {
    folder.close()
  }
})

test.run()
