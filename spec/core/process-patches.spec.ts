// Functions that an AsyncResource binds, without the accessors that Node has deprecated.

import { AsyncResource, executionAsyncId } from 'node:async_hooks'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bindWithoutAccessors } from '../../lib/core/process-patches.ts'

const test = suite('process patches')
const before = Object.getOwnPropertyDescriptor(AsyncResource.prototype, 'bind')!

test.after(() => {
  Object.defineProperty(AsyncResource.prototype, 'bind', before)
})

function describeCall(this: unknown, ...args: unknown[]): unknown {
  return { self: this, args, scope: executionAsyncId() }
}

test('a bound function runs in the scope of its resource, with its own arguments', () => {
  bindWithoutAccessors()
  const resource = new AsyncResource('spec')
  const scope = resource.asyncId()
  const bound = resource.bind(describeCall)
  const caller = { bound }
  assert.equal(caller.bound('a', 1), { self: caller, args: ['a', 1], scope })
  assert.is(executionAsyncId() === scope, false)
})

test('a bound function keeps the this argument it was bound with', () => {
  bindWithoutAccessors()
  const self = { name: 'self' }
  const bound = AsyncResource.bind(describeCall, 'spec', self)
  const { self: boundSelf, args } = bound('b') as { self: unknown; args: unknown }
  assert.is(boundSelf, self)
  assert.equal(args, ['b'])
})

test('a bound function has no deprecated accessors', () => {
  bindWithoutAccessors()
  assert.is('asyncResource' in AsyncResource.bind(() => {}), false)
})

test.run()
