// gwctl proxy config as a program: tables, JSON and YAML of a dump from a file or a gateway.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { AdminDouble } from '../support/ctl/admin-double.ts'
import { DUMP } from '../support/ctl/sample-dump.ts'
import { Folder } from '../support/folder.ts'
import { runProgram } from '../support/program.ts'

const folder = new Folder()
const FILE = folder.write('dump.json', JSON.stringify(DUMP))

async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram('gwctl', ['proxy', 'config', ...args])
  assert.equal([stderr, code], ['', 0], args.join(' '))
  return stdout
}

async function refuses(message: string | RegExp, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await runProgram('gwctl', ['proxy', 'config', ...args])
  if (typeof message === 'string') assert.is(stderr, `Error: ${message}\n`)
  else assert.match(stderr, message)
  assert.equal([stdout, code], ['', 1])
}

const config = suite('gwctl proxy config')

config.after(() => folder.close())

config('prints the complete configuration as JSON by default', async () => {
  const expected = JSON.stringify(DUMP, null, 2) + '\n'
  assert.is(await printed('all', '--file', FILE), expected)
  assert.is(await printed('all', '--file', FILE, '-o', 'json'), expected)
})

config('prints YAML with sorted keys and an empty line at the end', async () => {
  const yaml = await printed('all', '--file', FILE, '-o', 'yaml')
  assert.equal(parse(yaml), DUMP)
  const keys = yaml.match(/^\w+/gm)
  assert.equal(keys, ['backends', 'binds', 'generation', 'policies'])
  assert.match(yaml, /[^\n]\n\n$/)
})

config('lists backends', async () => {
  for (const name of ['backends', 'b', 'be'])
    assert.equal(squeezed(await printed(name, '-f', FILE)), [
      'TYPE NAME NAMESPACE ENDPOINT HEALTH REQUESTS LATENCY',
      'host gateway/default/default/api/backend0 default app:8080 - - -',
      'host gateway/default/default/api/backend1 default [::1]:81 - - -',
      'mcp gateway/default/default/tools/backend0 default a=stdio serve -v, b=mcp localhost:99/mcp - - -',
      'ai chat default own=custom q localhost:11434, far=openAI > stand-in=mock - - -',
      'llm models default gpt-*=oai, fast=mock mini, a=y > x | z, b=x (2) | y (1), c=x | y 75% 12 34.5 ms',
    ])
})

config('prints the same backend fields as JSON and YAML', async () => {
  const rows = JSON.parse(await printed('be', '-f', FILE, '-o', 'json')) as object[]
  assert.equal(rows[0], {
    type: 'host',
    name: 'gateway/default/default/api/backend0',
    namespace: 'default',
    endpoint: 'app:8080',
    health: null,
    requests: null,
    latencyMs: null,
  })
  assert.equal(parse(await printed('be', '-f', FILE, '-o', 'yaml')), rows)
})

config('lists routes, one line per match', async () => {
  assert.equal(squeezed(await printed('routes', '-f', FILE)), [
    'LISTENER ROUTE HOSTNAMES MATCHES BACKENDS POLICIES',
    'gateway/default ([::]:3000) api api.example.com POST ~/v[0-9]+/.* [x-a=b] [q~1|2] app:8080 (2), [::1]:81 (1) timeout',
    ' /x*',
    'gateway/default ([::]:3000) tools * /mcp a=stdio serve -v, b=mcp localhost:99/mcp -',
  ])
})

config('lists policies with their place and status', async () => {
  assert.equal(squeezed(await printed('policies', '-f', FILE)), [
    'KIND AT STATUS POLICY',
    'cors listener gateway/default inline {"allowOrigins":["*"]}',
    'timeout route gateway/default/default/api inline {"requestTimeout":"10s"}',
    'backendAuth backend gateway/default/default/api/backend0 inline {"header":{"key":"<redacted>"}}',
    'GatewayPolicy default/per-client HTTPRoute/api Accepted, not Attached (Pending) {"traffic":{"rateLimit":{"local":[{"requests":100,"unit":"Minutes"}]}}}',
  ])
})

config('requests the dump of a running gateway', async () => {
  const admin = await AdminDouble.open({ 'GET /config_dump': JSON.stringify(DUMP) })
  const live = await printed('routes', '--local', '-p', String(admin.port))
  assert.is(live, await printed('routes', '-f', FILE))
  assert.equal(admin.requests, ['GET /config_dump'])
  admin.close()
})

config('reads standard input', async () => {
  const text = JSON.stringify(DUMP)
  const { stdout } = await runProgram('gwctl', ['config', 'all', '-f', '-'], {}, text)
  assert.is(stdout, JSON.stringify(DUMP, null, 2) + '\n')
})

config('prints only headings for an empty dump', async () => {
  const file = folder.write('empty.json', '{}')
  for (const name of ['backends', 'routes', 'policies'])
    assert.is(squeezed(await printed(name, '-f', file)).length, 1)
})

config('accepts a dump with unexpected values', async () => {
  const odd = { binds: [null, 1, { listeners: 'x' }], backends: { a: {} }, policies: [[], 'x'] }
  const file = folder.write('odd.json', JSON.stringify(odd))
  for (const name of ['backends', 'routes', 'policies']) await printed(name, '-f', file)
})

config('refuses invalid options and files', async () => {
  await refuses(
    'output format "x" not supported, expected short, json or yaml',
    'all',
    '-f',
    FILE,
    '-o',
    'x',
  )
  await refuses(
    'at most one of --file or resource name may be passed',
    ...['all', '-f', FILE, 'gateway/a'],
  )
  await refuses('at most one of --file or --local may be passed', 'all', '-f', FILE, '--local')
  await refuses(
    /^Error: failed to read config dump file \/no\/x: .*no such file/,
    'all',
    '-f',
    '/no/x',
  )
  const bad = folder.write('bad.json', 'nonsense')
  await refuses(/^Error: failed to parse config dump file .*bad\.json: /, 'all', '-f', bad)
  const list = folder.write('list.json', '[]')
  await refuses(
    `failed to parse config dump file ${list}: it is not a JSON object`,
    'all',
    '-f',
    list,
  )
})

config('reports a refusal of the gateway', async () => {
  const admin = await AdminDouble.open({})
  await refuses('config dump returned 404 Not Found: not found', 'all', '-p', String(admin.port))
  admin.close()
})

/** Lines with single spaces, without the padding of the table. */
function squeezed(text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/ +/g, ' ').trimEnd())
}

config.run()
