// How long gwctl waits for an admin interface.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask } from '../../lib/ctl/admin.ts'
import type { Target } from '../../lib/ctl/target.ts'
import { AdminDouble } from '../support/ctl/admin-double.ts'
import type { Script } from '../support/ctl/admin-double.ts'
import { deadline } from '../support/deadline.ts'

const DRIP_MS = 5
const WAIT_MS = 30_000

const admin = suite('ctl/admin')

/** A letter at a time, and no end. */
const DRIPPING: Script = {
  'GET /memory': (response) => {
    const timer = setInterval(() => response.write('x'), DRIP_MS)
    response.once('close', () => clearInterval(timer))
  },
}

admin('an answer that drips without end is given up', async () => {
  const double = await AdminDouble.open(DRIPPING)
  const { port } = double
  const target: Target = { kind: 'tcp', host: '127.0.0.1', port, label: 'here' }
  const asked = ask(target, { method: 'GET', path: '/memory', bodyTimeout: 100 })
  const error = await deadline(
    asked.then(
      () => null,
      (reason: Error) => reason,
    ),
    WAIT_MS,
    'the end of patience',
  )
  double.close()
  assert.is(error?.message, 'the answer took more than 0.1 s')
})

admin.run()
