// Whoever sends a body decides how many names are in it: what is too much to judge is not shown at all.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  MAX_ODD_NAMES,
  MAX_PLACES,
  shownBody,
  shownTarget,
  WITHHELD,
} from '../../../lib/base/redact/texts.ts'

const bounds = suite('redact bounds')

function shown(body: string): string {
  return shownBody(Buffer.from(body)).toString()
}

bounds('shows no body with too many names in it', () => {
  const members = (count: number): string => `{${'"%":"b",'.repeat(count - 1)}"token":"x"}`
  const most = members(MAX_PLACES)
  assert.is(shown(most), most.replace('x', '<redacted>'))
  for (const body of [
    members(MAX_PLACES + 1),
    `a=1${'&%=1'.repeat(MAX_PLACES)}`,
    `--x token${' name="a"'.repeat(MAX_PLACES + 1)}`,
    `{"tokens":[${'"x",'.repeat(MAX_PLACES + 2)}1]}`,
  ])
    assert.is(shown(body), WITHHELD, body.slice(0, 20))
})

bounds('shows no text with too many names that must be decoded', () => {
  const names = Array.from({ length: MAX_ODD_NAMES + 1 }, (_, i) => `a%${i}`)
  const query = (some: readonly string[]): string =>
    `/?${some.map((name) => `${name}=1`).join('&')}`
  assert.is(shownTarget(query(names)), WITHHELD)
  assert.is(shownTarget(query(names.slice(1))), query(names.slice(1)))
  assert.is(shown(`{${names.map((name) => `"${name}":"1"`).join()}}`), WITHHELD)
  const same = query(names.map(() => 'a%'))
  assert.is(shownTarget(same), same)
})

bounds('takes a name that is too long to be read for that of a credential', () => {
  assert.is(shownTarget(`/?${'a'.repeat(2000)}=x`), `/?${'a'.repeat(2000)}=<redacted>`)
})

bounds('decodes names without exceptions', () => {
  const { decodeURIComponent: own } = globalThis
  let calls = 0
  globalThis.decodeURIComponent = (text) => {
    calls++
    return own(text)
  }
  try {
    assert.is(shownTarget('/?a%=b&%zztoken=x'), '/?a%=b&%zztoken=<redacted>')
    assert.is(shown('{"a%":"b","%zztoken":"x"}'), '{"a%":"b","%zztoken":"<redacted>"}')
  } finally {
    globalThis.decodeURIComponent = own
  }
  assert.is(calls, 0)
})

bounds.run()
