// The conformance tests of CEL, applied to our engine.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runCore } from './conformance-run.ts'
import { CORE_TESTS, FAILURES_OF_OLDER_NODES, KNOWN_FAILURES } from './known-failures.ts'

const conformance = suite('cel conformance')

const outcomes = runCore()

conformance('runs every core test of the language', () => {
  assert.is(outcomes.length, CORE_TESTS)
})

conformance('fails exactly the known failures', () => {
  const failures = outcomes
    .filter(({ name, passed }) => !passed && !FAILURES_OF_OLDER_NODES.includes(name))
    .map(({ name }) => name)
  assert.equal(failures, KNOWN_FAILURES)
})

conformance.run()
