import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { sensitiveNames, shownBody, shownTarget } from '../../lib/base/redact.ts'

const redact = suite('redact')

redact('hides what spec.md §5.8 names, what is known to be a credential, and what is added', () => {
  const names = sensitiveNames(['X-Mine'])
  for (const name of ['authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'x-mine'])
    assert.ok(names.has(name), name)
  assert.not.ok(names.has('accept'))
})

redact('hides parameters by their names, however those are written', () => {
  const targets: readonly [string, string][] = [
    ['/a?b=c', '/a?b=c'],
    ['/a?access_token=x&b=c', '/a?access_token=<redacted>&b=c'],
    ['/a?b=c&api%5Fkey=x', '/a?b=c&api%5Fkey=<redacted>'],
    ['/a?client_secret=x#y', '/a?client_secret=<redacted>#y'],
    ['/a?CODE=x', '/a?CODE=<redacted>'],
    ['/a?token=', '/a?token=<redacted>'],
    ['/a?%zz=x&sig=y', '/a?%zz=x&sig=<redacted>'],
    ['/token/x?key', '/token/x?key'],
    ['https://u:p@h/a', 'https://<redacted>@h/a'],
  ]
  for (const [target, shown] of targets) assert.is(shownTarget(target), shown)
})

redact('hides parameters that the configuration says are credentials', () => {
  const names = new Set(['who'])
  assert.is(
    shownTarget('/a?who=x&w%68o=y&whom=z', names),
    '/a?who=<redacted>&w%68o=<redacted>&whom=z',
  )
})

redact('hides what OAuth sends in forms and JSON, and leaves all else as it is', () => {
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
    ['{"max_tokens":5,"token":"x"}', '{"max_tokens":5,"token":"x"}'],
  ]
  for (const [body, shown] of bodies) assert.is(shownBody(Buffer.from(body)).toString(), shown)
})

redact('keeps bytes that are no text', () => {
  const bytes = Buffer.from([0xff, 0x00, 0xc3, 0x28, 0x3d])
  assert.is(shownBody(bytes), bytes)
  const mixed = Buffer.concat([Buffer.from('{"password":"x","a":"'), bytes])
  const shown = shownBody(mixed)
  assert.equal(shown.subarray(shown.length - bytes.length), bytes)
})

redact.run()
