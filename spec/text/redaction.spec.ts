import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  isSecretHeader,
  isSecretSetting,
  redactBody,
  redactBodyMembers,
  redactLine,
  redactTarget,
  redactValue,
  sensitiveHeaderNames,
} from '../../lib/text/redaction.ts'
import { cpuMs } from '../support/cpu-time.ts'

const redact = suite('redaction')

redact('hides the headers of spec.md §5.8, known credentials, and configured names', () => {
  const names = sensitiveHeaderNames(['X-Mine'])
  for (const name of ['authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'x-mine'])
    assert.ok(names.has(name), name)
  assert.not.ok(names.has('accept'))
})

redact('hides parameters by their names, whichever way they are encoded', () => {
  const targets: readonly [string, string][] = [
    ['/a?b=c', '/a?b=c'],
    ['/a?access_token=x&b=c', '/a?access_token=<redacted>&b=c'],
    ['/a?b=c&api%5Fkey=x', '/a?b=c&api%5Fkey=<redacted>'],
    ['/a?client_secret=x#y', '/a?client_secret=<redacted>#y'],
    ['/a?CODE=x', '/a?CODE=<redacted>'],
    ['/a?token=', '/a?token=<redacted>'],
    ['/a?%zz=x&sig=y', '/a?%zz=x&sig=<redacted>'],
    ['/a?b=1;token=x', '/a?b=1;token=<redacted>'],
    ['/a?apikey[]=x&user[password]=y', '/a?apikey[]=<redacted>&user[password]=<redacted>'],
    ['/a?client_secret.x=y', '/a?client_secret.x=<redacted>'],
    ['/a?b=/c?token=x', '/a?b=/c?token=<redacted>'],
    ['/a??token=x?y&b', '/a??token=<redacted>&b'],
    ['/token/x?key', '/token/x?key'],
    ['https://u:p@h/a', 'https://<redacted>@h/a'],
  ]
  for (const [target, shown] of targets) assert.is(redactTarget(target), shown)
})

redact('hides parameters that the configuration names as credentials', () => {
  const names = new Set(['who'])
  assert.is(
    redactTarget('/a?who=x&w%68o=y&whom=z', names),
    '/a?who=<redacted>&w%68o=<redacted>&whom=z',
  )
})

redact('hides what OAuth sends in forms and JSON, and keeps everything else', () => {
  const bodies: readonly [string, string][] = [
    [
      'grant_type=a&client_secret=x&code=y',
      'grant_type=a&client_secret=<redacted>&code=<redacted>',
    ],
    ['{"access_token": "x\\"y", "a": 1}', '{"access_token": "<redacted>", "a": 1}'],
    ['{"refresh_token":"cut of', '{"refresh_token":"<redacted>'],
    [
      'data: {"text":"{\\"id_token\\":\\"x\\",\\"b\\":2}"}',
      'data: {"text":"{\\"id_token\\":\\"<redacted>\\",\\"b\\":2}"}',
    ],
    ['{"access_token":""}', '{"access_token":""}'],
    ['{"max_tokens":5,"token":"x"}', '{"max_tokens":5,"token":"<redacted>"}'],
    ['{"apiKey":"x\\\\","b":"c"}', '{"apiKey":"<redacted>","b":"c"}'],
    ['{"Password":"x","code":-1}', '{"Password":"<redacted>","code":-1}'],
    ['{"access\\u005ftoken":"x"}', '{"access\\u005ftoken":"<redacted>"}'],
    ['{"t":"{\\"secret\\":\\"x\\\\\\"y\\"}"}', '{"t":"{\\"secret\\":\\"<redacted>\\"}"}'],
    ['a=b c&password=x y\n', 'a=b c&password=<redacted>\n'],
    ['a=b;password=x', 'a=b;password=<redacted>'],
    ['a&token[0]=x&b=c', 'a&token[0]=<redacted>&b=c'],
    [
      '--z\r\nContent-Disposition: form-data; name="password"\r\n\r\nx\r\n--z--\r\n',
      '--z\r\nContent-Disposition: form-data; name="password"\r\n\r\n<redacted>\r\n--z--\r\n',
    ],
  ]
  for (const [body, shown] of bodies) assert.is(redactBody(Buffer.from(body)).toString(), shown)
})

redact('hides the strings in arrays and objects with the name of a credential', () => {
  const bodies: readonly [string, string][] = [
    ['{"tokens":["x", "y"],"a":["b"]}', '{"tokens":["<redacted>", "<redacted>"],"a":["b"]}'],
    [
      '{"credentials":{"user":"u","more":[{"v":"x\\"]}"}]},"a":"b"}',
      '{"credentials":{"user":"<redacted>","more":[{"v":"<redacted>"}]},"a":"b"}',
    ],
    ['{"Authorization":["Bearer x"]}', '{"Authorization":["<redacted>"]}'],
    ['{"secret": [1, null, "cut of', '{"secret": [1, null, "<redacted>'],
    ['{"tokens":[{"type":"a"},"x"]}', '{"tokens":[{"type":"a"},"<redacted>"]}'],
    [
      '{"t":"{\\"tokens\\":[\\"x\\"],\\"b\\":\\"c\\"}","d":["e"]}',
      '{"t":"{\\"tokens\\":[\\"<redacted>\\"],\\"b\\":\\"c\\"}","d":["e"]}',
    ],
    // The string that contains it ends first.
    ['{"t":"\\"tokens\\": [","d":["e"]}', '{"t":"\\"tokens\\": [","d":["e"]}'],
    ['a&tokens[]=x&b=c', 'a&tokens[]=<redacted>&b=c'],
  ]
  for (const [body, shown] of bodies) assert.is(redactBody(Buffer.from(body)).toString(), shown)
})

redact('shows counts of tokens, and schema texts about a credential', () => {
  const usage = '{"usage":{"tokens":{"prompt":5},"token_details":{"a":"b"}},"session":{"a":"b"}}'
  const schema =
    '{"properties":{"api_key":{"type":"string","title":"A","description":"Of it"},"q":{"a":"b"}}}'
  const code = '{"code":{"language":"js"},"key":["a"]}'
  for (const body of [usage, schema, code])
    assert.is(redactBody(Buffer.from(body)).toString(), body)
})

redact('hides header values that look like a credential', () => {
  const values: readonly [string, string][] = [
    ['Bearer x', 'Bearer <redacted>'],
    ['basic dTpw', 'basic <redacted>'],
    ['a, Bearer abc123def456', 'a, Bearer <redacted>'],
    ['a=eyJhbGciOiJI.eyJzdWIiOiJh.c2ln', 'a=<redacted>'],
    ['/a?token=x', '/a?token=<redacted>'],
  ]
  for (const [value, shown] of values) assert.is(redactValue(value), shown)
  const challenge = 'Bearer resource_metadata="https://a/b", error="invalid_token"'
  const own = ['Bearer ', 'Basic realm="a"', 'needs bearer authentication', 'gzip, br', challenge]
  for (const value of own) assert.is(redactValue(value), value)
})

redact('hides the whole values of the listed members and form fields, and nothing else', () => {
  const names = ['password', 'PIN', 'straße']
  const bodies: readonly [string, string][] = [
    [
      '{"password":"x","token":"y","api_key":"z"}',
      '{"password":"<redacted>","token":"y","api_key":"z"}',
    ],
    ['{"Password" : "a\\"b" , "c":1}', '{"Password" : "<redacted>" , "c":1}'],
    ['{"pin":1234,"b":-1}', '{"pin":"<redacted>","b":-1}'],
    ['{"pin": true,"b":{"pin":-1.5e3}}', '{"pin": "<redacted>","b":{"pin":"<redacted>"}}'],
    ['{"pin":null,"password":""}', '{"pin":null,"password":""}'],
    ['{"password":{"a":["x",1],"b":"]}"},"c":"d"}', '{"password":"<redacted>","c":"d"}'],
    ['{"pin":[1,2,[3]],"c":"d"}', '{"pin":"<redacted>","c":"d"}'],
    ['{"straße":"x"}', '{"straße":"<redacted>"}'],
    ['{"p\\u0069n":"x"}', '{"p\\u0069n":"<redacted>"}'],
    ['{"t":"{\\"pin\\":1,\\"a\\":2}"}', '{"t":"{\\"pin\\":\\"<redacted>\\",\\"a\\":2}"}'],
    ['a=b&password=x&token=y', 'a=b&password=<redacted>&token=y'],
    ['data: {"pin":"x"}\n\n', 'data: {"pin":"<redacted>"}\n\n'],
    ['{"password":"cut of', '{"password":"<redacted>'],
    [
      '--z\r\nContent-Disposition: form-data; name="pin"\r\n\r\nx\r\n--z--\r\n',
      '--z\r\nContent-Disposition: form-data; name="pin"\r\n\r\n<redacted>\r\n--z--\r\n',
    ],
  ]
  for (const [body, shown] of bodies)
    assert.is(redactBodyMembers(Buffer.from(body), names).toString(), shown)
  const bytes = Buffer.from('{"token":"x"}')
  assert.is(redactBodyMembers(bytes, names), bytes)
})

redact('keeps bytes that are not text', () => {
  const bytes = Buffer.from([0xff, 0x00, 0xc3, 0x28, 0x3d])
  assert.is(redactBody(bytes), bytes)
  const mixed = Buffer.concat([Buffer.from('{"password":"x","a":"'), bytes])
  const shown = redactBody(mixed)
  assert.equal(shown.subarray(shown.length - bytes.length), bytes)
})

const MORE = [
  ...['x-authorization', 'x-original-authorization', 'x-auth', 'x-session', 'x-session-id'],
  ...['cf-access-jwt-assertion', 'x-goog-iap-jwt-assertion', 'x-hub-signature-256'],
  ...['sec-websocket-protocol', 'session'],
]

redact('hides headers whose names end like those of credentials', () => {
  const hidden = { headers: sensitiveHeaderNames([]) }
  const own = ['token', 'apikey', ...MORE, 'x-user-jwt', 'x-passphrase', 'x-amz-credential']
  for (const name of ['cookie', 'x-auth-token', 'ocp-apim-subscription-key', 'x-a-secret', ...own])
    assert.ok(isSecretHeader(name, hidden), name)
  const counts = ['x-ratelimit-remaining-tokens', 'x-author', 'x-session-count']
  const known = [...counts, 'x-content-hash', 'x-error-code', 'access-control-allow-credentials']
  for (const name of ['accept', 'x-tokens', 'host', 'set-cookie', ...known])
    assert.not.ok(isSecretHeader(name, hidden), name)
})

redact('hides settings by header names and by their own names', () => {
  const hidden = { headers: sensitiveHeaderNames(['X-Mine']) }
  const names = ['clientSecret', 'apiKey', 'keyHash', 'userJwt', 'bindPwd', 'passphrase']
  for (const name of ['X-User-Jwt', 'X-API-Key', 'Cookie', 'x-MINE', 'authorization', ...names])
    assert.ok(isSecretSetting(name, hidden), name)
  for (const name of ['key', 'keys', 'jwt', 'code', 'mcpAuthorization', 'kid', 'name'])
    assert.not.ok(isSecretSetting(name, hidden), name)
})

/** Reading half a megabyte a second time for each byte takes minutes. */
const MAX_MS = 30_000
const LONG = 524_288
const MARKS = '?&;="\\\':/@#.-_%+[]{}<> \r\nae'.split('')
const RUNS = [
  '"token":[',
  '"token":{"',
  '\\"token\\":[',
  '?a',
  '&a',
  ';a=',
  '?a=',
  '\\"',
  '":"',
  '"a":',
  '://',
  '://a',
  '--',
  'eyJ',
  'eyJ-',
]
const WORDS = ['eyJ-abcdefgh.', 'sk-', 'token', 'token ', 'bearer ', 'token:', ' name="token"']
const OPENINGS = ['', 'a=', '{"password":"', '{"a":"{\\"password\\":\\"', '{"tokens":[', '--']

redact('reads anything once, however long', () => {
  const before = cpuMs()
  for (const run of [...MARKS, ...RUNS, ...WORDS]) {
    const text = run.repeat(LONG / run.length)
    redactTarget(text)
    redactLine(text)
    redactValue(text)
    for (const opening of OPENINGS) {
      redactBody(Buffer.from(opening + text))
      redactBodyMembers(Buffer.from(opening + text), ['token', 'password'])
    }
  }
  assert.ok(cpuMs() - before < MAX_MS)
})

redact('hides texts of any length', () => {
  const long = 'a'.repeat(LONG * 16)
  assert.is(
    redactBody(Buffer.from(`{"password":"${long}"}`)).toString(),
    '{"password":"<redacted>"}',
  )
})

redact.run()
