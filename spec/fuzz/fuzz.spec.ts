// All targets for a moment each, from one seed. `npm run fuzz` does the same for as long as one likes.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { TARGETS } from './targets.ts'

const fuzz = suite('fuzz')

const SEED = 20_261_115
const MS = 800

for (const target of TARGETS)
  fuzz(target.name, async () => {
    const { failure } = await target.run(SEED, MS)
    assert.is(failure, null)
  })

fuzz.run()
