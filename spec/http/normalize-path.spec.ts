import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { PathNormalization } from '../../lib/core/bounds.ts'
import { RequestHead } from '../../lib/core/head.ts'
import { normalizeTarget } from '../../lib/http/normalize-path.ts'
import { fc } from '../support/fast-check.ts'

const paths = suite('normalized path')

/** The target after it was normalized, or the text of the refusal. */
function normalize(target: string, mode: PathNormalization = 'merge'): string {
  const head = new RequestHead('', [], 0)
  head.target = target
  return normalizeTarget(head, mode)?.message ?? head.target
}

paths('leaves a normal target unchanged, whatever its query contains', () => {
  for (const target of ['/', '/a/b.c/d', '/.well-known/x', '/a?b=//./../%61%zz', '*', '/a;b/c']) {
    assert.is(normalize(target), target)
    assert.is(normalize(target, 'strict'), target)
  }
})

paths('keeps what does not mean the same without its escape', () => {
  assert.is(normalize('/%2F%5C%3A%25%20%C3%A4'), '/%2F%5C%3A%25%20%C3%A4')
  assert.is(normalize('/%41%7a%30%2D%2E%5F%7e'), '/Az0-._~')
})

paths('decodes once', () => {
  assert.is(normalize('/%2561'), '/%2561')
  assert.is(normalize('/%252e%252e/a'), '/%252e%252e/a')
})

const PARTS = [
  '/',
  '//',
  '.',
  '..',
  '%',
  '%2e',
  '%2E',
  '%61',
  '%2f',
  '%25',
  '%5c',
  'a',
  '2',
  ';',
  '?',
]
const TARGET = fc
  .array(fc.constantFrom(...PARTS), { maxLength: 12 })
  .map((parts) => `/${parts.join('')}`)

paths(
  'has no dot segment, no double slash and no unreserved escape, and is its own normal form',
  () => {
    fc.assert(
      fc.property(TARGET, fc.constantFrom('merge', 'strict'), (target, mode) => {
        const normalized = normalize(target, mode)
        if (normalized.startsWith('invalid request')) return
        const [path = ''] = normalized.split('?')
        assert.not.match(path, /\/\/|\/\.\.?(?:\/|$)|%(?:2[de]|3\d|[46][1-9a-f]|[57][0-9a]|5f|7e)/i)
        assert.is(normalize(normalized, mode), normalized)
        assert.is(normalized.split('?').slice(1).join('?'), target.split('?').slice(1).join('?'))
      }),
      { numRuns: 2_000 },
    )
  },
)

paths('takes linear time', () => {
  for (const part of ['/', '/a/..', '/.', '%61', '..', '/..'])
    assert.type(normalize(`/${part.repeat(13_000)}`), 'string')
})

paths.run()
