import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  encodeSecret,
  findHeaderSecrets,
  KnownSecrets,
  MAX_KNOWN_SECRETS,
  MIN_SECRET_LENGTH,
} from '../../lib/text/known-secrets.ts'

const known = suite('known secrets')

function secretsOf(...values: string[]): KnownSecrets {
  const secrets = new KnownSecrets()
  for (const value of values) secrets.add(value)
  return secrets
}

const KEY = 'sk-9"a/b+c d\\é~'

known('are hidden as they are, in JSON, in URLs and in forms', () => {
  const secrets = secretsOf(KEY)
  const percent = encodeURIComponent(KEY)
  const forms = [KEY, JSON.stringify(KEY).slice(1, -1), percent, percent.replaceAll('%20', '+')]
  for (const form of [...forms, percent.replace(/%../g, (escape) => escape.toLowerCase())]) {
    const bytes = Buffer.from(`a ${form} b ${form}`)
    assert.is(secrets.redactBytes(bytes, 'whole').toString(), 'a <redacted> b <redacted>')
  }
  assert.is(secrets.redactText(`Bearer ${KEY}`), 'Bearer <redacted>')
})

known('are hidden in base64 after any number of other bytes', () => {
  const secrets = secretsOf('topsecret123')
  for (const before of ['', 'u', 'u:', 'me:'])
    for (const after of ['', 'x', 'xy'])
      for (const encoding of ['base64', 'base64url'] as const) {
        const shown = secrets.redactText(
          Buffer.from(before + 'topsecret123' + after).toString(encoding),
        )
        assert.match(shown, '<redacted>')
        assert.not.match(Buffer.from(shown, encoding).toString('latin1'), 'secret')
      }
})

known('that contain another one are hidden completely', () => {
  assert.is(secretsOf('abcdef', 'abcdefgh').redactText('abcdefgh abcdef'), '<redacted> <redacted>')
})

known('are hidden where the copy of a body ends in the middle of them', () => {
  const secrets = secretsOf('aaaaaaaab-secret')
  const whole = 'x aaaaaaaab-secret'
  for (let length = 8; length <= whole.length; length++) {
    const bytes = Buffer.from(whole.slice(0, length))
    assert.is(secrets.redactBytes(bytes, 'truncated').toString(), 'x <redacted>')
  }
  const part = Buffer.from('x aaaaaaaab')
  assert.is(secrets.redactBytes(part, 'whole'), part)
})

known('leave all other bytes as they are', () => {
  const bytes = Buffer.from([0xff, 0x00, 0xc3, 0x28, 0x3d])
  assert.is(secretsOf('topsecret').redactBytes(bytes, 'truncated'), bytes)
  // Too short to be searched for.
  assert.ok(secretsOf('short').isEmpty)
})

known('have the same forms and the same minimum length everywhere', () => {
  const forms = encodeSecret('é key?>~')
  const percent = ['%C3%A9%20key%3F%3E~', '%C3%A9+key%3F%3E~']
  const lower = ['%c3%a9%20key%3f%3e~', '%c3%a9+key%3f%3e~']
  const plain = ['é key?>~', Buffer.from('é key?>~').toString('latin1')]
  const base64 = ['w6kga2V5Pz5+', 'w6kga2V5Pz5-']
  for (const form of [...percent, ...lower, ...plain, ...base64])
    assert.ok(forms.includes(form), form)
  assert.is(new Set(forms).size, forms.length)
  assert.equal(encodeSecret('x'.repeat(MIN_SECRET_LENGTH - 1)), [])
})

known('are the values of credential headers without their scheme', () => {
  const found = findHeaderSecrets([
    ['Authorization', 'Basic dTpw'],
    ['authorization', 'apikey  one-key '],
    ['x-api-token', 'Own two-key'],
    ['x-other', 'Bearer shown'],
  ])
  assert.equal(
    found.map((secret) => secret.reveal()),
    ['dTpw', 'one-key', 'Own two-key'],
  )
})

known('are bounded: with too many of them no text and no body is shown', () => {
  const secrets = new KnownSecrets()
  for (let i = 0; i < MAX_KNOWN_SECRETS; i++) secrets.add(`secret ${i}`)
  assert.is(secrets.redactBytes(Buffer.from('a'), 'whole').toString(), 'a')
  secrets.add('one more')
  assert.is(
    secrets.redactBytes(Buffer.from('a'), 'whole').toString(),
    '<redacted: too many secrets>',
  )
  assert.is(secrets.redactText('one more'), '<redacted: too many secrets>')
})

known.run()
