// What an AsyncResource binds, without the accessors that Node has deprecated.

import { AsyncResource, executionAsyncId } from 'node:async_hooks'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bindPlainly } from '../../lib/base/plain-bind.ts'

const test = suite('plain bind')
const before = Object.getOwnPropertyDescriptor(AsyncResource.prototype, 'bind')!

test.after(() => {
  Object.defineProperty(AsyncResource.prototype, 'bind', before)
})

function seen(this: unknown, ...args: unknown[]): unknown {
  return { self: this, args, scope: executionAsyncId() }
}

test('a bound function runs in the scope of its resource, with what it is called with', () => {
  bindPlainly()
  const resource = new AsyncResource('spec')
  const scope = resource.asyncId()
  const bound = resource.bind(seen)
  const caller = { bound }
  assert.equal(caller.bound('a', 1), { self: caller, args: ['a', 1], scope })
  assert.is(executionAsyncId() === scope, false)
})

test('and as who it was bound to be', () => {
  bindPlainly()
  const self = { name: 'self' }
  const bound = AsyncResource.bind(seen, 'spec', self)
  const { self: seenSelf, args } = bound('b') as { self: unknown; args: unknown }
  assert.is(seenSelf, self)
  assert.equal(args, ['b'])
})

test('it has nothing that is deprecated', () => {
  bindPlainly()
  assert.is('asyncResource' in AsyncResource.bind(() => {}), false)
})

test.run()
