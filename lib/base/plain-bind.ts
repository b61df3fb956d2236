// Before 25, Node gives each function that an AsyncResource binds two deprecated accessors, of four functions with shapes of
// their own. node:http2 binds one for every request it makes: they are a fifth of what such a request costs.

import { AsyncResource } from 'node:async_hooks'

/** Leaves them out from now on, in the whole process, as Node itself does since. */
export function bindPlainly(): void {
  if (!('asyncResource' in AsyncResource.bind(() => {}))) return
  AsyncResource.prototype.bind = plainBind as AsyncResource['bind']
}

type Bound = (this: unknown, ...args: unknown[]) => unknown

function plainBind(this: AsyncResource, run: Bound, thisArg?: unknown): Bound {
  const inScope = this.runInAsyncScope.bind(this, run)
  return function bound(...args) {
    return inScope(thisArg === undefined ? this : thisArg, ...args)
  }
}
