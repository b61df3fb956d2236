import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { KnownSecrets } from '../../lib/text/known-secrets.ts'
import { RedactionCache } from '../../lib/trace/trace-request.ts'

/** Counts how many names are looked up. */
class CountingSet extends Set<string> {
  lookups = 0

  override has(name: string): boolean {
    this.lookups++
    return super.has(name)
  }
}

const texts = suite('redaction cache')

texts('redacts a long text once', () => {
  const parameters = new CountingSet(['who'])
  const cache = new RedactionCache({ headers: new Set(), parameters }, new KnownSecrets())
  const names = Array.from({ length: 100 }, (_, i) => `n${i}=1`).join('&')
  for (let i = 0; i < 3; i++) {
    assert.is(cache.redactTarget(`/?${names}&who=x`), `/?${names}&who=<redacted>`)
    assert.is(cache.redactValue(`/?${names}&who=x`), `/?${names}&who=<redacted>`)
  }
  assert.is(parameters.lookups, 2 * 101)
  assert.is(cache.redactTarget(`/?${names}&who=y&a=b`), `/?${names}&who=<redacted>&a=b`)
})

texts.run()
