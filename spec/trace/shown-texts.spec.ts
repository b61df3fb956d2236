import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RedactionCache } from '../../lib/trace/trace-request.ts'

/** Counts how many names are judged. */
class Counted extends Set<string> {
  asked = 0

  override has(name: string): boolean {
    this.asked++
    return super.has(name)
  }
}

const texts = suite('shown texts')

texts('reads a long text once, however often it is looked at', () => {
  const parameters = new Counted(['who'])
  const shown = new RedactionCache({ headers: new Set(), parameters })
  const names = Array.from({ length: 100 }, (_, i) => `n${i}=1`).join('&')
  for (let i = 0; i < 3; i++) {
    assert.is(shown.redactTarget(`/?${names}&who=x`), `/?${names}&who=<redacted>`)
    assert.is(shown.redactValue(`/?${names}&who=x`), `/?${names}&who=<redacted>`)
  }
  assert.is(parameters.asked, 2 * 101)
  assert.is(shown.redactTarget(`/?${names}&who=y&a=b`), `/?${names}&who=<redacted>&a=b`)
})

texts.run()
