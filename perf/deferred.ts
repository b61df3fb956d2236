// A promise with its resolve and reject functions; a rejection before anything awaits it is not reported as unhandled.
export class Deferred {
  readonly promise: Promise<void>
  resolve: () => void = () => {}
  reject: (error: unknown) => void = () => {}

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    this.promise.catch(() => {})
  }

  /** The task's result, or this promise's rejection if that comes first. */
  async guard<T>(task: Promise<T>): Promise<T> {
    const failure = this.promise.then(async () => task)
    return Promise.race([task, failure])
  }
}
