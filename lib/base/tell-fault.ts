// A bug that is not to end what it was found in: nothing above is told, but the process is, and its log has the stack.

export function tellFault(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
