// A minute of mixed traffic. `npm run soak` is the long form; GATEWAY_SOAK=off skips this one.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { soak } from './soak.ts'

const SECONDS = 60

const test = suite('soak')

if (process.env['GATEWAY_SOAK'] === 'off') {
  test.skip('a minute of mixed traffic (GATEWAY_SOAK=off)', () => {})
} else if (process.platform !== 'linux') {
  test.skip('a minute of mixed traffic (it is weighed through /proc, on Linux only)', () => {})
} else {
  test('a minute of mixed traffic leaves nothing behind and loses nothing', async () => {
    const { complaints } = await soak({ seconds: SECONDS, seed: 1, tell: () => {} })
    assert.equal(complaints, [])
  })
}

test.run()
