// A minute of mixed traffic. `npm run soak` is the long form; GATEWAY_SOAK=off skips this one.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { soak } from './soak.ts'
import { reportSkip } from '../support/report-skip.ts'

const SECONDS = 60

const test = suite('soak')

if (process.env['GATEWAY_SOAK'] === 'off') {
  reportSkip('a minute of mixed traffic', 'GATEWAY_SOAK is off')
} else if (process.platform !== 'linux') {
  reportSkip('a minute of mixed traffic', 'it is measured through /proc, on Linux only')
} else {
  test('a minute of mixed traffic leaves nothing behind and loses nothing', async () => {
    const { complaints } = await soak({ seconds: SECONDS, seed: 1, tell: () => {} })
    assert.equal(complaints, [])
  })
}

test.run()
