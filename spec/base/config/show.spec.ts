// Single values of the dump, among them those of shapes that no configuration may use yet.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Showing } from '../../../lib/base/config/show.ts'
import { compileWith } from '../../../lib/base/cel/compile.ts'
import { Secret } from '../../../lib/base/config/secret.ts'

const showing = suite('admin/show')

function show(value: unknown): unknown {
  return new Showing(['x-mine']).show(value)
}

const SECRET = new Secret('s3cret')
const CEL = compileWith('name == "a"', { name: 'string' })

showing('a secret is redacted wherever it stands', () => {
  assert.is(show(SECRET), '<redacted>')
  assert.equal(show({ a: [{ b: SECRET }] }), { a: [{ b: '<redacted>' }] })
})

showing('an expression and a pattern are shown by their text', () => {
  assert.is(show(CEL), 'name == "a"')
  assert.equal(show({ rules: [{ mode: 'allow', expression: CEL }] }), {
    rules: [{ mode: 'allow', expression: 'name == "a"' }],
  })
  assert.is(show(/a+/), 'a+')
})

showing('one of several forms is shown by its name', () => {
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

showing('keys to backends are redacted, public keys shown by kid, hashes not at all', () => {
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

showing('computed headers are shown by name, those of sensitive ones are redacted', () => {
  const text = compileWith('"s3cret"', {})
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

showing('targets are shown by name and kind, without the environment of their programs', () => {
  const stdio = { cmd: 'npx', args: ['server'], env: { API: 's3cret' }, clearEnv: false }
  const remote = { host: 'a.example', port: 443, path: '/mcp?key=s3cret', tls: null, auth: null }
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
        { name: 'two', mcp: { host: 'a.example', port: 443, path: '/mcp?key=<redacted>' } },
      ],
    },
  )
})

showing('arguments of a program are shown, but for those that are named as secrets', () => {
  const args = ['-y', 'srv', '--token', 's3cret', '--api-key=s3cret=', '-v', '--level=1', 'a=b']
  assert.equal(show({ args }), {
    args: ['-y', 'srv', '--token', '<redacted>', '--api-key=<redacted>', '-v', '--level=1', 'a=b'],
  })
  assert.equal(show({ args: ['--password', '-v', 'x'] }), { args: ['--password', '-v', 'x'] })
})

showing('a URL that something is fetched from is shown without its query', () => {
  const jwks = { kind: 'url', url: 'https://a.example/keys?code=s3cret#s3cret' }
  assert.equal(show({ jwks }), { jwks: { url: 'https://a.example/keys?<redacted>' } })
  assert.equal(show({ jwks: { ...jwks, url: 'https://a.example/keys' } }), {
    jwks: { url: 'https://a.example/keys' },
  })
})

showing('what users name themselves stays as it is, unless it tells of a secret', () => {
  const overrides = { kind: 'x', max_tokens: 5, add: [1], nothing: null, api_key: 's3cret' }
  assert.equal(show({ overrides: { ...overrides, deep: { clientSecret: 's3cret' } } }), {
    overrides: { ...overrides, api_key: '<redacted>', deep: { clientSecret: '<redacted>' } },
  })
})

showing('what is not set is left out, and no bound is null', () => {
  assert.equal(show({ a: null, b: Number.MAX_SAFE_INTEGER, c: false }), { b: null, c: false })
})

showing.run()
