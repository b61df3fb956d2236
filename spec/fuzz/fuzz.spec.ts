// Runs all fuzz targets for a short time with a fixed seed. `npm run fuzz` runs them for any time.

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
