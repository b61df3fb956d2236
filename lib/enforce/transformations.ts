// transformations: headers made by expressions.

import type { TransformationsConfig } from '../base/config/types.ts'
import type { Policy } from '../base/types.ts'

export function transformations(_config: TransformationsConfig): Policy {
  throw new Error('not written yet')
}
