// Lines that a program printed, without what looks like a credential.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { redactLine } from '../../lib/text/redaction.ts'
import { cpuMs } from '../support/cpu-time.ts'

const lines = suite('redacted lines')

const SECRETS = [
  'Authorization: Bearer planted-1234',
  'authorization=Basic planted1234',
  'using bearer planted-12345678',
  'GET https://user:planted@example.com/a',
  'GET http://example.com/a?access_token=planted&b=1',
  'API_KEY=planted',
  '{"api_key": "planted", "a": 1}',
  "password: 'planted'",
  'client_secret = planted',
  'got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.planted-signature',
  'key sk-planted-planted-planted',
  'set-cookie: planted=1',
]

lines('hide credentials', () => {
  for (const line of SECRETS) {
    const shown = redactLine(line)
    assert.not.match(shown, /planted|cGxhbnRlZ|eyJ/, line)
    assert.match(shown, '<redacted>')
  }
})

lines('keep everything else', () => {
  for (const line of [
    'listening on 127.0.0.1:3000',
    'token bucket refilled',
    'the secret of success is work',
    'GET /a?b=1&c=2 200 12ms',
    'basic auth is on',
    '',
  ])
    assert.is(redactLine(line), line)
})

lines('are redacted in linear time', () => {
  const long = `token: ${'a'.repeat(100_000)} ${'bearer '.repeat(10_000)}`
  const before = cpuMs()
  redactLine(long)
  assert.ok(cpuMs() - before < 1000)
})

lines.run()
