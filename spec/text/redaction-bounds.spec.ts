// A client decides how many names are in a body: a text with too many of them is not shown at all.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  MAX_ESCAPED_NAMES,
  MAX_REDACTION_MATCHES,
  redactBody,
  redactTarget,
  WITHHELD_TEXT,
} from '../../lib/text/redaction.ts'

const bounds = suite('redact bounds')

function shown(body: string): string {
  return redactBody(Buffer.from(body)).toString()
}

bounds('withholds a body with too many names', () => {
  const members = (count: number): string => `{${'"%":"b",'.repeat(count - 1)}"token":"x"}`
  const largest = members(MAX_REDACTION_MATCHES)
  assert.is(shown(largest), largest.replace('x', '<redacted>'))
  for (const body of [
    members(MAX_REDACTION_MATCHES + 1),
    `a=1${'&%=1'.repeat(MAX_REDACTION_MATCHES)}`,
    `--x token${' name="a"'.repeat(MAX_REDACTION_MATCHES + 1)}`,
    `{"tokens":[${'"x",'.repeat(MAX_REDACTION_MATCHES + 2)}1]}`,
  ])
    assert.is(shown(body), WITHHELD_TEXT, body.slice(0, 20))
})

bounds('withholds a text with too many names that must be decoded', () => {
  const names = Array.from({ length: MAX_ESCAPED_NAMES + 1 }, (_, i) => `a%${i}`)
  const query = (some: readonly string[]): string =>
    `/?${some.map((name) => `${name}=1`).join('&')}`
  assert.is(redactTarget(query(names)), WITHHELD_TEXT)
  assert.is(redactTarget(query(names.slice(1))), query(names.slice(1)))
  assert.is(shown(`{${names.map((name) => `"${name}":"1"`).join()}}`), WITHHELD_TEXT)
  const same = query(names.map(() => 'a%'))
  assert.is(redactTarget(same), same)
})

bounds('treats a name that is too long as that of a credential', () => {
  assert.is(redactTarget(`/?${'a'.repeat(2000)}=x`), `/?${'a'.repeat(2000)}=<redacted>`)
})

bounds('decodes names without exceptions', () => {
  const { decodeURIComponent: original } = globalThis
  let calls = 0
  globalThis.decodeURIComponent = (text) => {
    calls++
    return original(text)
  }
  try {
    assert.is(redactTarget('/?a%=b&%zztoken=x'), '/?a%=b&%zztoken=<redacted>')
    assert.is(shown('{"a%":"b","%zztoken":"x"}'), '{"a%":"b","%zztoken":"<redacted>"}')
  } finally {
    globalThis.decodeURIComponent = original
  }
  assert.is(calls, 0)
})

bounds.run()
