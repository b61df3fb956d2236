// What a session knows of its client, and whom it tells that it is over.

import type { FieldsFor } from '../types.ts'
import type { Session } from './session.ts'

export interface About {
  readonly principal: string
  /** The same or, where nobody is authenticated, where it comes from. */
  readonly client: string
  readonly fields: FieldsFor
}

export interface SessionOwner {
  /** It is over, for this reason. */
  ended(session: Session, reason: string): void
}
