import type { LookupAddress } from 'node:dns'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  InternalAddressError,
  isInternalAddress,
  createExternalLookup,
} from '../../lib/http/fetch-document.ts'
import { deadline } from '../support/deadline.ts'

const outside = suite('external lookup')

outside('this machine, its networks and reserved networks are internal', () => {
  const internal = [
    ...['127.0.0.1', '127.255.0.1', '0.0.0.0', '10.1.2.3', '172.16.0.1', '172.31.255.255'],
    ...['192.168.0.1', '169.254.169.254', '100.64.0.1', '224.0.0.1', '255.255.255.255'],
    ...['::1', '::', 'fe80::1', 'fd00::1', 'fc00::1', 'ff02::1'],
    ...['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '64:ff9b::7f00:1'],
  ]
  for (const address of internal) assert.is(isInternalAddress(address), true, address)
  const others = ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1', '::ffff:8.8.8.8']
  for (const address of others) assert.is(isInternalAddress(address), false, address)
})

type LookupResult = Parameters<Parameters<ReturnType<typeof createExternalLookup>>[2]>

/** What a connection gets for a name with these addresses. */
function lookUp(addresses: LookupAddress[], all: boolean): Promise<LookupResult> {
  const resolve = (_name: string, _options: object, done: (...result: unknown[]) => void): void =>
    done(null, addresses)
  const lookup = createExternalLookup(
    resolve as unknown as Parameters<typeof createExternalLookup>[0],
  )
  const result = new Promise<LookupResult>((done) =>
    lookup('a.example', { all }, (...rest) => done(rest)),
  )
  return deadline(result, 30_000, 'an address')
}

outside('a name with an internal address, alone or among others, is refused', async () => {
  const good = { address: '203.0.114.1', family: 4 }
  assert.equal(await lookUp([good], true), [null, [good]])
  assert.equal(await lookUp([good], false), [null, '203.0.114.1', 4])
  for (const address of ['127.0.0.1', '169.254.169.254', '::1'])
    for (const all of [true, false]) {
      const [error] = await lookUp([good, { address, family: address === '::1' ? 6 : 4 }], all)
      assert.instance(error, InternalAddressError)
    }
})

outside.run()
