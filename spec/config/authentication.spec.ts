import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RoutePolicies } from '../../lib/config/config-types.ts'
import { routeText, ungatedConfig, ungatedProblems } from '../support/config.ts'

const folder = mkdtempSync(join(tmpdir(), 'auth-'))
const auth = suite('authentication and authorization')

auth.after(() => rmSync(folder, { recursive: true }))

const route = (policies: string) =>
  routeText(`backends: [{ host: "a:1" }], policies: { ${policies} }`)

function policiesOf(policies: string): RoutePolicies {
  return ungatedConfig(route(policies)).gateways[0]!.listeners[0]!.routes[0]!.policies
}

function problems(policies: string): string[] {
  return ungatedProblems(route(policies)).map((line) => line.replaceAll('routes[0].policies.', ''))
}

const META = 'resourceMetadata: { resource: "http://g/mcp" }'
const TOKEN = 'issuer: "http://idp/realms/r", audiences: [a]'
const mcpAuth = (fields: string) => `mcpAuthentication: { ${fields} }`

auth('accepts every field of mcpAuthentication', () => {
  const { mcpAuthentication } = policiesOf(
    mcpAuth(
      `mode: strict, issuer: "https://login/tenant/v2.0", audiences: [api://c, c],
       provider: { idp_tenant: {} }, jwks: "https://mirror/keys", clientId: c, clientSecret: hush, requirePkce: strict,
       resourceMetadata: { resource: "http://g/mcp", scopesSupported: [read],
       bearerMethodsSupported: [header] }`.replace(/\n\s+/g, ' '),
    ),
  )
  const { clientSecret, ...rest } = mcpAuthentication!
  assert.equal(rest, {
    issuer: 'https://login/tenant/v2.0',
    audiences: ['api://c', 'c'],
    jwks: { kind: 'url', url: 'https://mirror/keys' },
    requiredClaims: ['exp'],
    leeway: 60_000,
    mode: 'strict',
    location: { kind: 'header', name: 'authorization', prefix: 'Bearer ' },
    provider: 'idp_tenant',
    issuerMode: 'gateway',
    clientId: 'c',
    requirePkce: 'strict',
    resourceMetadata: {
      resource: 'http://g/mcp',
      scopesSupported: ['read'],
      bearerMethodsSupported: ['header'],
      resourceName: null,
      resourceDocumentation: null,
      resourcePolicyUri: null,
      resourceTosUri: null,
    },
  })
  assert.is(clientSecret!.reveal(), 'hush')
  assert.not.match(inspect(mcpAuthentication, { depth: 9 }), 'hush')
})

auth('advertises any bearer methods, and warns about those that are not accepted', () => {
  const read = (methods: string, more = '') => {
    const meta = `resourceMetadata: { resource: "http://g/mcp", bearerMethodsSupported: ${methods} }`
    const { warnings } = ungatedConfig(route(mcpAuth(`${TOKEN}, ${meta}${more}`)))
    return warnings.map((warning) => warning.replace(/^.*bearerMethodsSupported/, ''))
  }
  assert.equal(read('[header]'), [])
  assert.equal(read('[]'), [])
  const advertised = "is advertised, but tokens are accepted only by the method 'header'"
  assert.equal(read('[header, body, query]'), [
    `[1]: 'body' ${advertised}`,
    `[2]: 'query' ${advertised}`,
  ])
  const inQuery = ', authorizationLocation: { queryParameter: { name: access_token } }'
  assert.equal(read('[query]', inQuery), [])
  assert.equal(
    problems(mcpAuth(`${TOKEN}, ${META.replace(' }', ', bearerMethodsSupported: header }')}`)),
    ['mcpAuthentication.resourceMetadata.bearerMethodsSupported: got a string, expected a list'],
  )
})

auth('has mode strict and a derived key set by default', () => {
  const { mcpAuthentication } = policiesOf(
    mcpAuth(`${TOKEN}, provider: { idp_realm: {} }, ${META}`),
  )
  assert.is(mcpAuthentication!.mode, 'strict')
  assert.is(mcpAuthentication!.provider, 'idp_realm')
  assert.equal(mcpAuthentication!.jwks, { kind: 'derived' })
})

auth('accepts every provider and issuerMode', () => {
  for (const name of ['idp_realm', 'idp_tenant', 'auth0']) {
    const mode = name === 'idp_tenant' ? 'gateway' : 'provider'
    const { mcpAuthentication } = policiesOf(
      mcpAuth(`${TOKEN}, provider: { ${name}: {} }, issuerMode: ${mode}, ${META}`),
    )
    assert.is(mcpAuthentication!.provider, name)
    assert.is(mcpAuthentication!.issuerMode, mode)
  }
  const tenant = `${TOKEN}, provider: { idp_tenant: {} }, issuerMode: provider, ${META}`
  assert.equal(problems(mcpAuth(tenant)), [
    'mcpAuthentication.issuerMode: got provider, expected gateway: clients cannot register with idp_tenant themselves',
  ])
  assert.equal(problems(mcpAuth(`${TOKEN}, ${META}, issuerMode: idp`)), [
    "mcpAuthentication.issuerMode: got 'idp', expected one of 'gateway', 'provider'",
  ])
})

auth('refuses invalid mcpAuthentication', () => {
  assert.equal(problems(mcpAuth('mode: strict')), [
    'mcpAuthentication.issuer is required',
    'mcpAuthentication.audiences is required',
    'mcpAuthentication.resourceMetadata is required',
  ])
  const refusal = (fields: string) => problems(mcpAuth(`${TOKEN}, ${META}, ${fields}`))
  assert.equal(refusal('mode: strictt'), [
    "mcpAuthentication.mode: got 'strictt', expected one of 'strict', 'optional', 'permissive', did you mean 'strict'?",
  ])
  assert.equal(refusal('provider: { idp_realm: {}, idp_tenant: {} }'), [
    'mcpAuthentication.provider: got idp_realm and idp_tenant, expected at most one of them',
  ])
  assert.match(refusal('provider: { idp_real: {} }')[0]!, "did you mean 'idp_realm'?")
  assert.match(refusal('provider: { idp_realm: { a: 1 } }')[0]!, "unknown field 'a'")
  assert.equal(refusal('provider: { keycloak: {} }'), [
    "mcpAuthentication.provider.keycloak: is not supported by this name, expected 'idp_realm'",
  ])
  assert.match(refusal('provider: { okta: {} }')[0]!, "one of 'idp_realm', 'idp_tenant', 'auth0'")
  assert.equal(refusal('clientSecret: s, clientId: c'), [
    'mcpAuthentication.clientSecret: got a clientSecret, expected it only with provider.idp_tenant',
  ])
  assert.equal(refusal('clientSecret: s, provider: { idp_tenant: {} }'), [
    'mcpAuthentication.clientSecret: got a clientSecret without clientId, expected both',
  ])
  assert.equal(
    problems(
      mcpAuth(`issuer: "https://login", audiences: [a], provider: { idp_tenant: {} }, ${META}`),
    ),
    [
      'mcpAuthentication.issuer: got an issuer without a tenant, expected the tenant in its path for idp_tenant',
    ],
  )
  assert.equal(problems(mcpAuth(`issuer: idp, audiences: [], ${META}`)), [
    "mcpAuthentication.issuer: got 'idp', expected a URL such as https://example.com/path",
    'mcpAuthentication.audiences: got an empty list, expected at least one entry',
  ])
})

auth('refuses scopes and URLs that clients could not use unchanged', () => {
  const resource = (fields: string) =>
    problems(mcpAuth(`${TOKEN}, resourceMetadata: { resource: "http://g/mcp", ${fields} }`))
  const scopes = (...list: string[]) => resource(`scopesSupported: ${JSON.stringify(list)}`)
  assert.equal(scopes('mcp:read', 'api://c/.default', "!#[]~'"), [])
  for (const invalid of ['a b', 'a"b', 'a\\b', '', 'a\nb', 'ä'])
    assert.match(scopes('ok', invalid)[0]!, 'scopesSupported[1]: got ', invalid)
  const EXTRA = 'got a URL with a query or fragment, expected none: other URLs are derived from it'
  for (const url of ['http://g/mcp?a=b', 'http://g/mcp#a', 'http://g/mcp?', 'http://g/#']) {
    assert.equal(problems(mcpAuth(`${TOKEN}, resourceMetadata: { resource: "${url}" }`)), [
      `mcpAuthentication.resourceMetadata.resource: ${EXTRA}`,
    ])
    assert.equal(problems(mcpAuth(`issuer: "${url}", audiences: [a], ${META}`)), [
      `mcpAuthentication.issuer: ${EXTRA}`,
    ])
  }
})

const KEY = {
  kid: 'k',
  kty: 'OKP',
  crv: 'Ed25519',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
}
const KEYS = { keys: [KEY] }

auth('accepts key sets as a file, JSON or a URL', () => {
  const file = join(folder, 'keys.json')
  writeFileSync(file, JSON.stringify(KEYS))
  const keysOf = (jwks: string) => policiesOf(mcpAuth(`${TOKEN}, ${META}, jwks: ${jwks}`))
  for (const jwks of [
    `"${file}"`,
    `"file://${file}"`,
    `{ file: "${file}" }`,
    `'${JSON.stringify(KEYS)}'`,
  ])
    assert.equal(keysOf(jwks).mcpAuthentication!.jwks, { kind: 'keys', ...KEYS }, jwks)
  const url = { kind: 'url', url: 'http://a/k' }
  assert.equal(keysOf('{ url: "http://a/k" }').mcpAuthentication!.jwks, url)
})

auth('refuses key sets without usable public keys', () => {
  const refusal = (keys: unknown) =>
    problems(mcpAuth(`${TOKEN}, ${META}, jwks: '${JSON.stringify({ keys })}'`))[0]!.replace(
      /^.*?: /,
      '',
    )
  assert.match(
    problems(mcpAuth(`${TOKEN}, ${META}, jwks: "ftp://k/keys?a=hush"`)).join(),
    /jwks: got a URL of the scheme 'ftp', expected http, https or file$/,
  )
  assert.is(refusal([]), 'got a key set without keys, expected {"keys": […]}')
  assert.match(
    refusal([{ kty: 'RSA' }]),
    'key 0 of the set: the key is missing the `kid` attribute',
  )
  assert.match(
    refusal([{ kid: 'a', kty: 'oct', k: 'x' }]),
    'expected kty to be one of RSA, EC, OKP',
  )
  assert.match(refusal([{ kid: 'a', kty: 'EC', d: 'x' }]), 'got a private key')
  assert.match(refusal([{ kid: 'a', kty: 'EC', crv: 'P-256' }]), 'the key cannot be read')
  const n = Buffer.alloc(128, 0xc5).toString('base64url')
  assert.match(
    refusal([KEY, { kid: 'a', kty: 'RSA', n, e: 'AQAB' }]),
    'key 1 of the set: got a short RSA key, expected at least 2048 bits',
  )
  assert.match(
    refusal([KEY, { ...KEY, kid: 'other' }, KEY]),
    'key 2 of the set: got the kid of key 0, expected another',
  )
  assert.match(problems(mcpAuth(`${TOKEN}, ${META}, jwks: '{a'`))[0]!, 'that is not JSON')
  assert.match(problems(mcpAuth(`${TOKEN}, ${META}, jwks: no.json`))[0]!, "cannot read 'no.json'")
})

auth('accepts jwtAuth with one issuer or several', () => {
  const one = policiesOf('jwtAuth: { issuer: "http://i", jwks: "http://i/k" }').jwtAuth!
  assert.is(one.mode, 'optional')
  assert.equal(
    one.providers.map(({ issuer, audiences }) => [issuer, audiences]),
    [['http://i', []]],
  )
  const two =
    'providers: [{ issuer: "http://i", jwks: "http://i/k" }, { issuer: "http://j", jwks: "http://j/k" }]'
  assert.is(policiesOf(`jwtAuth: { mode: strict, ${two} }`).jwtAuth!.providers.length, 2)
  assert.equal(problems('jwtAuth: { issuer: "http://i" }'), ['jwtAuth.jwks is required'])
  assert.match(
    problems(
      `jwtAuth: { issuer: "http://i", jwks: "http://k" }, ${mcpAuth(`${TOKEN}, ${META}`)}`,
    )[0]!,
    'jwtAuth: got jwtAuth and mcpAuthentication, expected one of them',
  )
})

auth('refuses a duplicate issuer, because only one of its providers would be used', () => {
  const provider = (issuer: string) => `{ issuer: "${issuer}", jwks: "http://i/k" }`
  const same = ['http://i', 'http://j', 'http://i', 'http://i/'].map(provider).join()
  assert.equal(problems(`jwtAuth: { providers: [${same}] }`), [
    'jwtAuth.providers[2].issuer: got the issuer of providers[0], expected another: list all audiences there',
  ])
})

auth('stores hashes of API keys instead of the keys', () => {
  const hash = '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae'
  const { apiKey } = policiesOf(`apiKey: { keys: [{ key: foo, metadata: { user_id: u } }] }`)
  assert.equal(apiKey!.keys, [{ hash, metadata: { user_id: 'u' }, allowedModels: null }])
  assert.equal(
    problems(`apiKey: { keys: [{ key: foo }, { keyHash: "sha256:${hash.toUpperCase()}" }] }`),
    ['apiKey.keys[1]: got the key of keys[0], expected another'],
  )
  assert.equal(problems('apiKey: { keys: [{}] }'), [
    "apiKey.keys[0]: expected exactly one of 'key', 'keyHash'",
  ])
  assert.equal(problems('apiKey: { keys: [{ keyHash: abc }] }'), [
    "apiKey.keys[0].keyHash: expected 'sha256:' and 64 hex digits",
  ])
})

auth('refuses metadata of a key that is too deep for expressions', () => {
  const metadata = (depth: number) =>
    problems(
      `apiKey: { keys: [{ key: k, metadata: { a: ${'['.repeat(depth)}${']'.repeat(depth)} } }] }`,
    )
  assert.equal(metadata(63), [])
  assert.equal(metadata(64), [
    'apiKey.keys[0].metadata: got metadata that is nested too deep, expected at most 64 levels',
  ])
})

auth('reads users from lines or a file', () => {
  const lines =
    'a:$$apr1$$a$$PtM1vJaZieHDFk40mKMu6/\\r\\n# no\\n\\nb b:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\\n'
  const { basicAuth } = policiesOf(`basicAuth: { htpasswd: "${lines}" }`)
  assert.equal(
    basicAuth!.users.map(({ name, hash }) => [name, hash.reveal()]),
    [
      ['a', '$apr1$a$PtM1vJaZieHDFk40mKMu6/'],
      ['b b', '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ='],
    ],
  )
  assert.is(basicAuth!.mode, 'strict')
  assert.not.match(inspect(basicAuth, { depth: 9 }), 'apr1')
  assert.equal(problems('basicAuth: { htpasswd: "nocolon" }'), [
    'basicAuth.htpasswd: line 1 of htpasswd: expected user:hash',
    'basicAuth.htpasswd: got no users, expected at least one',
  ])
  assert.match(problems('basicAuth: { htpasswd: { file: none } }')[0]!, "cannot read 'none'")
})

auth('refuses unsupported hashes with their line number', () => {
  const file = join(folder, 'htpasswd')
  writeFileSync(file, 'a:plain\nb:$6$salt$hush\n\nc:rqXexS6ZhobKA\na:other\n')
  const known = 'expected bcrypt ($2y$), apr1 ($apr1$), {SHA}, or {PLAIN} and the password'
  assert.equal(problems(`basicAuth: { htpasswd: { file: "${file}" } }`), [
    `basicAuth.htpasswd: line 2 of htpasswd: got an unknown kind of hash, ${known}`,
    `basicAuth.htpasswd: line 4 of htpasswd: got what looks like crypt, ${known}`,
    "basicAuth.htpasswd: line 5 of htpasswd: got user 'a' again, expected each once",
  ])
})

auth('requires the scheme Basic in the authorization headers only', () => {
  const locationOf = (written: string) =>
    policiesOf(`basicAuth: { htpasswd: "a:b", authorizationLocation: { ${written} } }`).basicAuth!
      .location
  assert.equal(locationOf('header: { name: Proxy-Authorization }'), {
    kind: 'header',
    name: 'proxy-authorization',
    prefix: 'Basic ',
  })
  assert.equal(locationOf('header: { name: x-user }'), {
    kind: 'header',
    name: 'x-user',
    prefix: '',
  })
})

auth('compiles rules, and treats plain text as require', () => {
  const { authorization } = policiesOf(
    `authorization: { rules: ['"a" in jwt.roles', { deny: 'request.method == "PUT"' }, { allow: 'true' }] }`,
  )
  assert.equal(
    authorization!.rules.map(({ mode, expression }) => [mode, expression.source]),
    [
      ['require', '"a" in jwt.roles'],
      ['deny', 'request.method == "PUT"'],
      ['allow', 'true'],
    ],
  )
})

auth('refuses invalid rules with the position and the nearest name', () => {
  const rule = (text: string) =>
    problems(`authorization: { rules: ['${text}'] }`).map((line) => line.replace(/^\S+ /, ''))
  assert.match(
    rule('jwtt.sub == "a"')[0]!,
    'got an invalid expression: unknown name jwtt, did you mean jwt?',
  )
  assert.match(rule('request.methd == "a"')[0]!, 'did you mean method?')
  assert.match(rule('1 +')[0]!, 'got an invalid expression: ')
  assert.match(rule('"a"')[0]!, 'this returns string')
  assert.match(rule('jwt.sub.matches("(?=a)a")')[0]!, 'got an invalid expression: ')
  assert.equal(problems('authorization: { rules: [{ alow: a }] }'), [
    "authorization.rules[0].alow: unknown field 'alow', did you mean 'allow'?",
  ])
  assert.equal(problems('authorization: { rules: [] }'), [
    'authorization.rules: got an empty list, expected at least one entry',
  ])
})

auth.run()
