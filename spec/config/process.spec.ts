import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  BACKEND_LIMITS,
  LLM_LIMITS,
  MAX_BYTES_IN_FLIGHT,
  MAX_LIMIT_KEYS,
  MAX_PAGE_STREAMS,
  MAX_TRACE_WATCHERS,
  MCP_LIMITS,
  TERMINATION_DEADLINE_MS,
  MAX_TRACED_BODY_BYTES,
  WIRE_LIMITS,
} from '../../lib/core/bounds.ts'
import { resolveAddresses, isDefaultAddress } from '../../lib/config/check/check-process.ts'
import type { AdminAddress, Config } from '../../lib/config/config-types.ts'
import { configOf, problemsOf } from '../support/config.ts'

const settings = suite('config and frontendPolicies')

const GATEWAY = 'gateways: { a: { port: 1 } }\n'

function withConfig(fields: string): Config {
  return configOf(`${GATEWAY}config: { ${fields} }`)
}

function refusals(fields: string, section = 'config'): string[] {
  const lines = problemsOf(`${GATEWAY}${section}: { ${fields} }`)
  return lines.map((line) => line.replace(/^c\.yaml:2:\d+: /, ''))
}

settings('set the number of workers', () => {
  assert.is(withConfig('workers: 4').process.workers, 4)
  for (const invalid of ['0', '65', '1.5', 'auto'])
    assert.match(refusals(`workers: ${invalid}`).join(), /^config\.workers: /, invalid)
})

settings('have defaults', () => {
  const { process, backend, mcp, llm, wire } = configOf(GATEWAY)
  assert.equal(process, {
    workers: 1,
    admin: { kind: 'localhost', port: 15000 },
    stats: { kind: 'localhost', port: 15020 },
    readiness: { kind: 'localhost', port: 15021 },
    logging: { level: 'info', format: 'text' },
    sensitiveHeaders: [],
    terminationDeadline: TERMINATION_DEADLINE_MS,
    maxTracedBytes: MAX_TRACED_BODY_BYTES,
    redactBodies: [],
    maxBytesInFlight: MAX_BYTES_IN_FLIGHT,
    maxKeys: MAX_LIMIT_KEYS,
    maxReaders: MAX_PAGE_STREAMS,
    maxWatchers: MAX_TRACE_WATCHERS,
  })
  assert.equal(backend, BACKEND_LIMITS)
  assert.equal(mcp, MCP_LIMITS)
  assert.equal(llm, LLM_LIMITS)
  assert.equal(wire, WIRE_LIMITS)
})

settings('accept the admin address in every form', () => {
  const table: [string, AdminAddress][] = [
    ['off', { kind: 'off' }],
    ['localhost:15001', { kind: 'localhost', port: 15001 }],
    ['127.0.0.1:1', { kind: 'tcp', host: '127.0.0.1', port: 1 }],
    ['0.0.0.0:65535', { kind: 'tcp', host: '0.0.0.0', port: 65535 }],
    ['[::1]:15000', { kind: 'tcp', host: '::1', port: 15000 }],
    ['unix:/run/gateway.sock', { kind: 'unix', path: '/run/gateway.sock' }],
  ]
  for (const [text, expected] of table)
    assert.equal(withConfig(`adminAddr: '${text}'`).process.admin, expected, text)
})

settings('set the addresses of admin servers, which the environment overrides', () => {
  const { process } = withConfig('statsAddr: "127.0.0.1:1", readinessAddr: off')
  assert.equal(resolveAddresses(process, { ADMIN_ADDR: 'off', READINESS_ADDR: 'unix:/r' }), {
    admin: { kind: 'off' },
    stats: { kind: 'tcp', host: '127.0.0.1', port: 1 },
    readiness: { kind: 'unix', path: '/r' },
  })
  for (const name of ['ADMIN_ADDR', 'STATS_ADDR', 'READINESS_ADDR'])
    assert.throws(
      () => resolveAddresses(process, { [name]: 'nowhere' }),
      (error: Error) => error.message.startsWith(`${name}: invalid config.`),
    )
})

settings('distinguish a default address from a configured one', () => {
  const { process } = configOf(GATEWAY)
  assert.ok(isDefaultAddress(process.stats) && isDefaultAddress(process.readiness))
  assert.not.ok(isDefaultAddress(withConfig('statsAddr: localhost:15020').process.stats))
  const { stats } = resolveAddresses(process, { STATS_ADDR: 'localhost:15020' })
  assert.not.ok(isDefaultAddress(stats))
})

settings('refuse an admin address in any other form', () => {
  const expected = 'expected ip:port, localhost:port, unix:/path or off'
  const invalid = ['', 'on', 'localhost', '127.0.0.1', '127.0.0.1:0', '127.0.0.1:65536', '::1:80']
  invalid.push('[127.0.0.1]:80', 'example.com:80', 'unix:', 'unix:relative', '256.0.0.1:80', ':80')
  for (const text of invalid)
    assert.equal(refusals(`adminAddr: '${text}'`), [
      `invalid config.adminAddr: got '${text}', ${expected}`,
    ])
  assert.equal(refusals('adminAddr: 15000'), [
    `invalid config.adminAddr: got a number, ${expected}`,
  ])
})

settings('accept a log level as a filter or a list of filters', () => {
  const level = (text: string) => withConfig(`logging: { level: ${text} }`).process.logging.level
  assert.is(level('debug'), 'debug')
  assert.is(level('"info,accept=debug"'), 'info,accept=debug')
  assert.is(level('[info, accept=trace, forward/http=warn]'), 'info,accept=trace,forward/http=warn')
  assert.is(withConfig('logging: { format: json }').process.logging.format, 'json')
})

settings('refuse an unknown log level or format', () => {
  const levels = 'expected one of error, warn, info, debug, trace'
  assert.equal(refusals('logging: { level: wran }'), [
    `config.logging.level: got level 'wran', ${levels}, did you mean 'warn'?`,
  ])
  assert.equal(refusals('logging: { level: [info, "accept="] }'), [
    `config.logging.level[1]: got level '', ${levels}`,
  ])
  assert.equal(refusals('logging: { level: "a b" }'), [
    "config.logging.level: got 'a b', expected a level or a filter such as info,accept=debug",
  ])
  assert.equal(refusals('logging: { level: 3 }'), [
    'config.logging.level: expected a level filter or a list of them',
  ])
  assert.equal(refusals('logging: { format: xml }'), [
    "config.logging.format: got 'xml', expected one of 'text', 'json'",
  ])
})

settings('store sensitive headers in lower case and refuse invalid header names', () => {
  const config = withConfig('sensitiveHeaders: [X-Api-Key, cookie]')
  assert.equal(config.process.sensitiveHeaders, ['x-api-key', 'cookie'])
  assert.equal(refusals('sensitiveHeaders: [ok, "x api", ":path", ""]'), [
    "config.sensitiveHeaders[1]: invalid sensitive header 'x api': expected a valid header name",
    "config.sensitiveHeaders[2]: invalid sensitive header ':path': expected a valid header name",
    "config.sensitiveHeaders[3]: invalid sensitive header '': expected a valid header name",
  ])
})

settings('set the limits of backend connections', () => {
  const fields =
    'connectTimeout: 1s, poolIdleTimeout: 2s, poolMaxAge: 6s, poolMaxSize: 3, poolMaxWaiting: 0, bodyIdleTimeout: 5s, ' +
    'responseHeadTimeout: 0s'
  const config = withConfig(`connectionTerminationDeadline: 9s, backend: { ${fields} }`)
  assert.is(config.process.terminationDeadline, 9000)
  assert.equal(config.backend, {
    connectTimeout: 1000,
    poolIdleTimeout: 2000,
    poolMaxAge: 6000,
    poolMaxSize: 3,
    poolMaxWaiting: 0,
    bodyIdleTimeout: 5000,
    responseHeadTimeout: 0,
  })
  assert.equal(refusals('backend: { poolMaxSize: 0, poolMaxWaiting: 1.5 }'), [
    'config.backend.poolMaxSize: got 0, expected at least 1',
    'config.backend.poolMaxWaiting: got a fraction, expected a whole number',
  ])
})

settings('set the limits of held LLM requests', () => {
  assert.equal(withConfig('llm: { maxHeldBytes: 9000 }').llm, { ...LLM_LIMITS, maxHeldBytes: 9000 })
  assert.equal(withConfig('llm: { maxHeldTogether: 20000000 }').llm, {
    ...LLM_LIMITS,
    maxHeldTogether: 20_000_000,
  })
  assert.equal(withConfig('llm: { maxKeptBytes: 0, firstByteTimeout: 0s }').llm, {
    ...LLM_LIMITS,
    maxKeptBytes: 0,
    firstByteTimeout: 0,
  })
  assert.equal([LLM_LIMITS.maxKeptBytes, LLM_LIMITS.firstByteTimeout], [4_194_304, 60_000])
  assert.equal(
    problemsOf(`${GATEWAY}config:\n  llm: { maxHeldBytes: 10, maxHeldTogether: 1.5 }\n`),
    [
      'c.yaml:3:24: config.llm.maxHeldBytes: got 10, expected at least 1024',
      'c.yaml:3:45: config.llm.maxHeldTogether: got a fraction, expected a whole number',
    ],
  )
  assert.match(refusals('llm: { maxHeldByte: 1 }')[0]!, "did you mean 'maxHeldBytes'?")
})

settings('set the maximum number of buckets of a keyed rate limit', () => {
  assert.is(withConfig('rateLimit: { maxKeys: 9 }').process.maxKeys, 9)
  assert.equal(refusals('rateLimit: { maxKeys: 0 }'), [
    'config.rateLimit.maxKeys: got 0, expected at least 1',
  ])
  assert.equal(refusals('rateLimit: { maxKeys: 16000001 }'), [
    'config.rateLimit.maxKeys: got 16000001, expected at most 16000000',
  ])
})

settings('set the maximum number of event streams of the web UI', () => {
  assert.is(withConfig('ui: { maxReaders: 9 }').process.maxReaders, 9)
  assert.equal(refusals('ui: { maxReaders: 0 }'), [
    'config.ui.maxReaders: got 0, expected at least 1',
  ])
})

settings('set the limits of client connections', () => {
  const http =
    'maxHeadBytes: 1024, http1MaxHeaders: 10, maxBodyBytes: 9, headTimeout: 1s, bodyIdleTimeout: 2s, ' +
    'responseIdleTimeout: 3s, http1IdleTimeout: 4s, maxConnections: 5, ' +
    'maxConnectionsPerAddress: 8, http2MaxStreams: 6, headersWithUnderscores: allow, normalizePath: strict'
  const text = `${GATEWAY}frontendPolicies: { http: { ${http} }, tls: { handshakeTimeout: 7s } }`
  assert.equal(configOf(text).wire, {
    normalizePath: 'strict',
    maxHeadBytes: 1024,
    maxHeaders: 10,
    maxBodyBytes: 9,
    headTimeout: 1000,
    bodyIdleTimeout: 2000,
    responseIdleTimeout: 3000,
    keepAliveTimeout: 4000,
    maxConnections: 5,
    maxConnectionsPerAddress: 8,
    maxStreams: 6,
    handshakeTimeout: 7000,
    headersWithUnderscores: 'allow',
  })
})

settings('refuse limits out of range', () => {
  const http = 'maxHeadBytes: 1023, http1MaxHeaders: 2001, maxConnections: 0'
  assert.equal(refusals(`http: { ${http} }`, 'frontendPolicies'), [
    'frontendPolicies.http.maxHeadBytes: got 1023, expected at least 1024',
    'frontendPolicies.http.http1MaxHeaders: got 2001, expected at most 2000',
    'frontendPolicies.http.maxConnections: got 0, expected at least 1',
  ])
  assert.equal(refusals('http: { maxHeadBytes: 65537 }', 'frontendPolicies'), [
    'frontendPolicies.http.maxHeadBytes: got 65537, expected at most 65536',
  ])
})

settings.run()
