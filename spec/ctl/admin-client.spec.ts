// How long gwctl waits for a response of the admin interface.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { sendAdminRequest } from '../../lib/ctl/admin-client.ts'
import type { AdminAddress } from '../../lib/ctl/admin-client.ts'
import { AdminDouble } from '../support/ctl/admin-double.ts'
import type { Script } from '../support/ctl/admin-double.ts'
import { deadline } from '../support/deadline.ts'

const DRIP_MS = 5
const WAIT_MS = 30_000

const admin = suite('admin client')

/** Sends one byte at a time and never ends. */
const DRIPPING: Script = {
  'GET /memory': (response) => {
    const timer = setInterval(() => response.write('x'), DRIP_MS)
    response.once('close', () => clearInterval(timer))
  },
}

admin('gives up on a response that never ends', async () => {
  const double = await AdminDouble.open(DRIPPING)
  const { port } = double
  const address: AdminAddress = { kind: 'tcp', host: '127.0.0.1', port, label: 'here' }
  const sent = sendAdminRequest(address, { method: 'GET', path: '/memory', bodyTimeout: 100 })
  const error = await deadline(
    sent.then(
      () => null,
      (reason: Error) => reason,
    ),
    WAIT_MS,
    'the timeout',
  )
  double.close()
  assert.is(error?.message, 'the response took more than 0.1 s')
})

admin.run()
