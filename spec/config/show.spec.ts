// How single values are formatted in dumps, including shapes that no configuration can use yet.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ConfigFormatter } from '../../lib/config/show.ts'
import { compileWithNames } from '../../lib/expressions/compile.ts'
import { Secret } from '../../lib/text/secret.ts'
import { Regex } from '../../lib/expressions/regex.ts'

const showing = suite('config formatter')

function show(value: unknown): unknown {
  return new ConfigFormatter(['x-mine']).format(value)
}

const SECRET = new Secret('s3cret')
const DYN = { h: 'dyn', jwt: 'dyn', mcp: 'dyn', apiKey: 'dyn' }
const CEL = compileWithNames('name == "a"', { name: 'string' })

showing('redacts a secret at any depth', () => {
  assert.is(show(SECRET), '<redacted>')
  assert.equal(show({ a: [{ b: SECRET }] }), { a: [{ b: '<redacted>' }] })
})

showing('shows expressions and regexes as text', () => {
  assert.is(show(CEL), 'name == "a"')
  assert.equal(show({ rules: [{ mode: 'allow', expression: CEL }] }), {
    rules: [{ mode: 'allow', expression: 'name == "a"' }],
  })
  assert.is(show(new Regex('a+', 'whole')), 'a+')
  const plain = 'jwt.sub == "alice" && mcp.tool.name == "get_token" && apiKey.user in ["a"]'
  assert.is(show(compileWithNames(plain, DYN)), plain)
})

showing('redacts literals that an expression compares with a credential', () => {
  const shown: readonly [string, string][] = [
    ['h["authorization"] == "s3cret"', 'h["authorization"] == "<redacted>"'],
    ["h.cookie == r's3cret'", "h.cookie == r'<redacted>'"],
    ['h["x-mine"] in ["s3cret", """s3c"ret"""]', 'h["x-mine"] in ["<redacted>", """<redacted>"""]'],
    ['h["X-Api-Key"] in["s3cret"]', 'h["X-Api-Key"] in["<redacted>"]'],
    ['apiKey.key == "s3cret"', 'apiKey.key == "<redacted>"'],
    ['{"s\\"3": 1}[h["x-auth-token"]] == 1', '{"<redacted>": 1}[h["x-auth-token"]] == 1'],
    ['"authorization" in h && h["a"] == "b"', '"authorization" in h && h["a"] == "<redacted>"'],
    ['"Bearer s3cret"', '"Bearer <redacted>"'],
    ['"Bearer " + jwt.sub', '"Bearer " + jwt.sub'],
  ]
  for (const [source, expected] of shown) assert.is(show(compileWithNames(source, DYN)), expected)
})

showing('shows a tagged union with its kind as field name', () => {
  assert.equal(show({ kind: 'header', name: 'x-key', prefix: 'Bearer ' }), {
    header: { name: 'x-key', prefix: 'Bearer ' },
  })
  assert.equal(show({ kind: 'url', url: 'https://a.example/keys' }), {
    url: 'https://a.example/keys',
  })
  assert.equal(show({ kind: 'passthrough' }), { passthrough: {} })
  assert.equal(show({ kind: 'openAI', model: null }), { openAI: {} })
  assert.is(show({ kind: 'tcp', host: '::1', port: 80 }), '[::1]:80')
})

showing('redacts backend keys and hashes, and shows public keys by kid', () => {
  assert.equal(show({ kind: 'query', key: SECRET, name: 'k' }), {
    query: { key: '<redacted>', name: 'k' },
  })
  assert.equal(show({ kind: 'keys', keys: [{ kid: 'one', kty: 'EC', x: 'x' }] }), {
    keys: ['one'],
  })
  assert.equal(show({ keys: [{ hash: 'abc', metadata: { team: 'a' }, allowedModels: null }] }), {
    keys: [{ hash: '<redacted>', metadata: { team: 'a' } }],
  })
})

showing('shows computed headers by name and redacts sensitive ones', () => {
  const text = compileWithNames('"s3cret"', {})
  const request = {
    add: [],
    set: [
      { name: 'x-plain', value: CEL },
      { name: 'x-mine', value: text },
      { name: 'authorization', value: text },
      { name: 'X-User-Jwt', value: text },
    ],
    remove: ['x-a'],
  }
  assert.equal(show({ request, response: null }), {
    request: {
      add: {},
      set: {
        'x-plain': 'name == "a"',
        'x-mine': '<redacted>',
        authorization: '<redacted>',
        'X-User-Jwt': '<redacted>',
      },
      remove: ['x-a'],
    },
  })
})

showing('shows MCP targets by name and kind and redacts their environment', () => {
  const stdio = { cmd: 'npx', args: ['server'], env: { API: 's3cret' }, clearEnv: false }
  const remote = {
    host: 'a.example',
    port: 443,
    path: '/mcp?key=s3cret&x=s3cret&s3cret',
    tls: null,
    auth: null,
  }
  assert.equal(
    show({
      targets: [
        { name: 'one', kind: 'stdio', ...stdio },
        { name: 'two', kind: 'mcp', ...remote },
      ],
    }),
    {
      targets: [
        { name: 'one', stdio: { ...stdio, env: { API: '<redacted>' } } },
        {
          name: 'two',
          mcp: {
            host: 'a.example',
            port: 443,
            path: '/mcp?key=<redacted>&x=<redacted>&<redacted>',
          },
        },
      ],
    },
  )
})

showing('shows flags and plain names in arguments of a program', () => {
  for (const args of [
    ['-y', '@modelcontextprotocol/server-everything'],
    ['run', '-i', '--rm', 'ghcr.io/github/github-mcp-server:v1.2.3', 'stdio'],
    ['--directory', '/home/me/myProject', 'run', './dist/server.py', 'mcp-remote@latest'],
    ['https://a.example:8080', '--verbose', '-v'],
  ])
    assert.equal(show({ args }), { args })
})

showing('redacts any other argument of a program', () => {
  const args = [
    ...['--header', 'Authorization: Bearer s3cret', '-H', 'X-Api-Key: s3cret', '-e', 'X=s3cret'],
    ...['--env=API_KEY=s3cret', '--auth', 'secret', '--level=1', '-psecret', '{"token":"s3cret"}'],
    ...['sk-4aB7cD', '9f86d081884c7d65', 'https://a/s3cret', 'db://u:s3/cret@h/d', 'A=s3cret'],
    ...['db://u:secret@h/d', 'u:secret', 'u:secret@h'],
  ]
  const hidden = '<redacted>'
  assert.equal(show({ args }), {
    args: [
      ...['--header', hidden, '-H', hidden, '-e', hidden],
      ...['--env=<redacted>', '--auth', hidden, '--level=<redacted>', hidden, hidden],
      ...[hidden, hidden, 'https://a/<redacted>', hidden, hidden],
      ...[hidden, hidden, hidden],
    ],
  })
})

showing('redacts credentials in query matches, headers and response bodies', () => {
  const match = (name: string): unknown => ({ name, value: { kind: 'exact', value: 's3cret' } })
  const shown = (name: string, value: string): unknown => ({ name, value: { exact: value } })
  const names = ['sig', 'key', 'code', 'page']
  assert.equal(new ConfigFormatter([]).format(names.map(match), 'query'), [
    ...['sig', 'key', 'code'].map((name) => shown(name, '<redacted>')),
    shown('page', 's3cret'),
  ])
  const set = [
    ['x-custom', 'Bearer s3cret'],
    ['x-auth', 's3cret'],
    ['x-plan', 'Basic plan'],
  ]
  assert.equal(show({ set }), {
    set: { 'x-custom': 'Bearer <redacted>', 'x-auth': '<redacted>', 'x-plan': 'Basic plan' },
  })
  assert.equal(show({ status: 200, body: '{"token":"s3cret","a":"b"}' }), {
    status: 200,
    body: '{"token":"<redacted>","a":"b"}',
  })
})

showing('redacts the query of a key set URL', () => {
  const jwks = { kind: 'url', url: 'https://a.example/keys?code=s3cret#s3cret' }
  assert.equal(show({ jwks }), { jwks: { url: 'https://a.example/keys?<redacted>' } })
  assert.equal(show({ jwks: { ...jwks, url: 'https://a.example/keys' } }), {
    jwks: { url: 'https://a.example/keys' },
  })
})

showing('keeps free-form fields except secrets', () => {
  const group = { credentials: { user: 's3cret', n: 1 }, list_token: ['s3cret'] }
  const overrides = { kind: 'x', max_tokens: 5, add: [1], nothing: null, api_key: 's3cret' }
  assert.equal(show({ overrides: { ...overrides, deep: { clientSecret: 's3cret' }, ...group } }), {
    overrides: {
      ...overrides,
      api_key: '<redacted>',
      deep: { clientSecret: '<redacted>' },
      credentials: { user: '<redacted>', n: 1 },
      list_token: ['<redacted>'],
    },
  })
})

showing('omits fields that are not set and shows unlimited as null', () => {
  assert.equal(show({ a: null, b: Number.MAX_SAFE_INTEGER, c: false }), { b: null, c: false })
})

showing.run()
