// The changes that the gateway makes to the whole process, all in one place. Each has its reason, its measured effect, and what
// to check when Node is upgraded. Anything new here needs a figure that users can feel.

import { AsyncResource } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'

export function applyProcessPatches(): void {
  keepNewObjectsYoung()
  bindWithoutAccessors()
}

/**
 * Reason: V8 starts with a young space of 1 MiB. With many chats in progress their objects survive its first collections, so V8
 * allocates further ones directly in the old space, where only a full collection frees them.
 * Figure: an LLM chat of 2 KB on 64 connections takes 105 µs of CPU with this flag and 135 µs without (Node 20.20, all threads,
 * medians of 9 rounds in turns). A small POST takes 32 µs with and without.
 * On a Node upgrade: compare `npm run perf -- --only llm-small` with and without; `node --v8-options` must still list the flag.
 * `keep-compiled.mjs` in the build resets it, because the compile cache is for a V8 with default flags.
 */
function keepNewObjectsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/**
 * Reason: before version 25, Node gives each function that an AsyncResource binds two deprecated accessors. node:http2 binds one
 * function for each request that it sends.
 * Figure: a small POST to a backend reached by HTTP/2 over TLS takes 83 µs of CPU with this patch and 123 µs without (Node 20.20,
 * all threads, medians of 9 rounds in turns). A small POST to an HTTP/1 backend takes the same.
 * On a Node upgrade: nothing is patched where the accessors are absent; delete this when Node 25 is the oldest supported version.
 */
export function bindWithoutAccessors(): void {
  if (!('asyncResource' in AsyncResource.bind(() => {}))) return
  AsyncResource.prototype.bind = bind as AsyncResource['bind']
}

type Bound = (this: unknown, ...args: unknown[]) => unknown

function bind(this: AsyncResource, run: Bound, thisArg?: unknown): Bound {
  const runInScope = this.runInAsyncScope.bind(this, run)
  return function bound(...args) {
    return runInScope(thisArg === undefined ? this : thisArg, ...args)
  }
}
