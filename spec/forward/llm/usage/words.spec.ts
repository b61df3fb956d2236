// The checks that decide whether a chunk of an event stream must be parsed.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { detectBlankLineEnd } from '../../../../lib/forward/llm/usage/watch-events.ts'
import { containsMarker } from '../../../../lib/forward/llm/usage/extract-usage.ts'

const markers = suite('markers')

markers('finds a marker at any position', () => {
  for (const text of [
    '{"usage":{}}',
    '{"usage" : \n{',
    '"usage"',
    'usage"',
    'x"usage":nil',
    '[DONE]',
  ])
    assert.ok(containsMarker(text, ['usage"', '[DONE]']), text)
  for (const text of ['', 'usage', '\\"usage\\":{}', 'usages":{}', '[DON'])
    assert.not(containsMarker(text, ['usage"', '[DONE]']), text)
  assert.not(containsMarker('"usage":{}', []))
})

markers('ignores members that are null', () => {
  for (const text of [
    '"usage":null',
    '"usage": null}',
    '"usage"\t:\r\n null',
    '"usage":null"usage":null',
  ])
    assert.not(containsMarker(text, ['usage"']), text)
  for (const text of [
    '"usage":null,"usage":{}',
    '"usage":{"usage":null}',
    '"usage"null',
    '[DONE] :n',
  ])
    assert.ok(containsMarker(text, ['usage"', '[DONE]']), text)
})

markers('detects a blank line at the end, and its line ends', () => {
  for (const [text, blank] of [
    ['data: a\n\n', '\n\n'],
    ['data: a\r\n\r\n', '\r\n\r\n'],
    ['data: a\r\r', '\r\r'],
    ['data: a\n\r\n', ''],
    ['data: a\r\n\n', '\n\n'],
    ['data: a\n', ''],
    ['data: a\r\n', ''],
    ['a\r\n\r', ''],
    ['', ''],
  ] as const) {
    const bytes = Buffer.from(`\n\n${text}\n\n`)
    assert.is(detectBlankLineEnd(bytes, 2, bytes.length - 2), blank, JSON.stringify(text))
  }
})

markers.run()
