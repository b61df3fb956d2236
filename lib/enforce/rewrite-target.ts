// Path and query after a rewrite of the path.

import type { PathRewrite } from '../base/config/types.ts'

/** `prefix` is what matched, without a slash at its end; the query stays as it was. */
export function rewriteTarget(rewrite: PathRewrite, target: string, prefix: string): string {
  const mark = target.indexOf('?')
  const end = mark < 0 ? target.length : mark
  const path =
    rewrite.kind === 'full' ? rewrite.value : rewrite.value + target.substring(prefix.length, end)
  return (path === '' ? '/' : path) + target.substring(end)
}
