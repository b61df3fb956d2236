import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ConfigError } from '../../lib/config/config-error.ts'
import { loadConfig, parseConfig } from '../../lib/config/load.ts'
import { Secret } from '../../lib/text/secret.ts'
import { configOf, firstListener, problemsOf } from '../support/config.ts'

const load = suite('loading a configuration')

load('reads a file with the given environment', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-config-'))
  const file = join(folder, 'my.yaml')
  writeFileSync(file, 'gateways: { a: { port: ${P} } }')
  const config = loadConfig([file], { P: '81' })
  rmSync(folder, { recursive: true })
  assert.is(config.gateways[0]!.port, 81)
  assert.is(config.file, file)
})

load('refuses a missing file', () => {
  try {
    loadConfig(['/no/such.yaml'])
    assert.unreachable()
  } catch (error) {
    assert.instance(error, ConfigError)
    const { message, problems } = error as ConfigError
    assert.is(message, '/no/such.yaml: cannot read the configuration file: no such file')
    assert.is(problems[0]!.line, 0)
  }
})

/** The problems of a text, without their positions, with these variables. */
function problemsWith(env: Record<string, string>, text: string): string[] {
  try {
    parseConfig(text, { file: 'c.yaml', env })
  } catch (error) {
    return (error as ConfigError).problems.map(({ path, message }) => `${path}: ${message}`)
  }
  return []
}

load('does not print the value of a variable in an error', () => {
  const env = { SEC: 'hush-hush', NUM: '99999999' }
  const text = (route: string): string =>
    `gateways: { default: { port: 80 } }\nroutes: [{ ${route} }]`
  assert.equal(problemsWith(env, 'gateways: { a: { port: ${NUM} } }'), [
    'gateways.a.port: got the value of ${NUM}, expected at most 65535',
  ])
  const problems = [
    ...problemsWith(
      env,
      text('backends: [{ host: "a:1" }], policies: { timeout: { requestTimeout: "${SEC}" } }'),
    ),
    ...problemsWith(env, text('backends: [{ host: "x${SEC:-y}" }]')),
    ...problemsWith(env, text('hostnames: [&s "${SEC}/"], backends: [{ host: *s }]')),
    ...problemsWith(
      env,
      text('matches: [{ path: { regex: "(${SEC}" } }], backends: [{ host: "a:1" }]'),
    ),
  ]
  assert.ok(problems.length >= 4)
  for (const problem of problems) {
    assert.not.match(problem, 'hush')
    assert.match(problem, /the value of .*\$\{SEC\}/)
  }
})

load('does not print the value of a variable that is used as a name', () => {
  const env = { SEC: 'hush-hush', AUTH: '{key:hush-hush}' }
  const route = 'gateways: { default: { port: 80 } }\nroutes: [{ backends: [{ host: "a:1" }],'
  for (const text of [
    `${route} policies: { backendAuth: \${AUTH} } }]`,
    `${route} \${SEC}: 1 }]`,
  ]) {
    const problems = problemsWith(env, text)
    assert.ok(problems.length > 0)
    assert.not.match(problems.join(), 'hush')
  }
})

load('lists the first 100 problems in its message', () => {
  const routes = Array.from({ length: 250 }, () => '{ wrong: 1 }').join(', ')
  try {
    parseConfig(`gateways: { default: { port: 80 } }\nroutes: [${routes}]`, { file: 'c.yaml' })
    assert.unreachable()
  } catch (error) {
    const { message, problems } = error as ConfigError
    const lines = message.split('\n')
    assert.is(lines.length, 101)
    assert.is(lines[100], `and ${problems.length - 100} more`)
  }
})

load('warns about probable mistakes', () => {
  const text = `gateways: { default: { port: 80 }, idle: { port: 81 } }
routes:
  - { name: a, policies: { directResponse: { status: 200 } }, backends: [{ host: "a:1" }] }
mcp:
  targets:
    - { name: x, stdio: { cmd: no-such-command-here } }
    - { name: y, stdio: { cmd: /no/such/file } }
    - { name: z, stdio: { cmd: node } }`
  assert.equal(configOf(text).warnings, [
    'c.yaml:3:73: routes[0].backends: never called: directResponse answers every request',
    'c.yaml:6:32: mcp.targets[0].stdio.cmd: is not found on PATH: the target cannot start',
    'c.yaml:7:32: mcp.targets[1].stdio.cmd: is not an executable file: the target cannot start',
    'c.yaml:1:42: gateways.idle: has no routes: every request gets 404',
  ])
})

load('refuses a document that is not an object', () => {
  const empty = 'c.yaml:1:1: got no configuration, expected at least gateways, mcp or llm'
  assert.equal(problemsOf(''), [empty])
  assert.equal(problemsOf('# nothing\n---\n'), [empty])
  assert.equal(problemsOf('hello'), ['c.yaml:1:1: got a string, expected an object'])
  assert.equal(problemsOf('- a'), ['c.yaml:1:1: got a list, expected an object'])
})

load('reports all problems at once, in the order of the file', () => {
  const text = `config:
  adminAdr: off
gateways:
  a:
    prot: 80
  b:
    port: "80"
routes:
  - gateways: c
    backends:
      - hots: x:1
  - gateways: d
    backends: [{ host: "x:1" }]
  - gateways: a
    backends: [{ host: "x:1" }]
`
  assert.equal(problemsOf(text), [
    "c.yaml:2:3: config.adminAdr: unknown field 'adminAdr', did you mean 'adminAddr'?",
    'c.yaml:5:5: gateways.a.port is required',
    "c.yaml:5:5: gateways.a.prot: unknown field 'prot', did you mean 'port'?",
    'c.yaml:7:11: gateways.b.port: got a string, expected a number',
    "c.yaml:11:9: routes[0].backends[0].hots: unknown field 'hots', did you mean 'host'?",
    'c.yaml:12:15: routes[1].gateways: unknown gateway reference d, expected one of a, b',
  ])
})

load('refuses unknown fields at every level', () => {
  const route = 'routes: [{ backends: [{ host: "a:1", QQ: 1 }], matches: [{ QQ: 1 }], QQ: 1 }]'
  const paths = [
    'QQ: 1',
    'config: { QQ: 1, logging: { QQ: 1 }, backend: { QQ: 1 } }',
    'frontendPolicies: { QQ: 1, http: { QQ: 1 }, tls: { QQ: 1 } }',
    'gateways: { default: { port: 1, QQ: 1, listeners: [{ QQ: 1 }] } }',
    route,
  ].join('\n')
  const found = problemsOf(paths)
  assert.is(found.length, 12)
  for (const line of found) assert.match(line, "unknown field 'QQ', expected ")
})

load('names the type of a wrong value, not the value', () => {
  const problemOf = (value: string) =>
    problemsOf(`gateways: { a: { port: ${value} } }`)[0]!.replace(/^.*port: /, '')
  assert.is(problemOf('secret'), 'got a string, expected a number')
  assert.is(problemOf('1.5'), 'got a fraction, expected a whole number')
  assert.is(problemOf('[1]'), 'got a list, expected a number')
  assert.is(problemOf('{ a: 1 }'), 'got an object, expected a number')
  assert.is(problemOf('true'), 'got true, expected a number')
  assert.is(problemOf(''), 'got nothing, expected a number')
})

load('freezes the configuration deeply', () => {
  const config = configOf(
    'gateways: { default: { port: 1 } }\nroutes: [{ backends: [{ host: "a:1" }] }]',
  )
  const parts: unknown[] = [config, config.process, config.gateways, config.gateways[0]]
  parts.push(firstListener(config).routes, firstListener(config).routes[0]!.backends[0])
  for (const part of parts) assert.ok(Object.isFrozen(part))
})

load('redacts secrets in text, JSON and inspect', () => {
  const secret = new Secret('hush')
  for (const shown of [String(secret), JSON.stringify({ secret }), inspect({ secret })])
    assert.not.match(shown, 'hush')
  assert.match(inspect({ secret }), '<redacted>')
  assert.is(secret.reveal(), 'hush')
})

load.run()
