// CEL's own tests judge the engine.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runCore } from './conformance-run.ts'
import { CORE_TESTS, FAILURES_OF_OLDER_NODES, KNOWN_FAILURES } from './known-failures.ts'

const conformance = suite('cel conformance')

const outcomes = runCore()

conformance('runs every core test of the language', () => {
  assert.is(outcomes.length, CORE_TESTS)
})

conformance('fails none but those known to fail, and each of those', () => {
  const failures = outcomes
    .filter(({ name, passed }) => !passed && !FAILURES_OF_OLDER_NODES.includes(name))
    .map(({ name }) => name)
  assert.equal(failures, KNOWN_FAILURES)
})

conformance.run()
