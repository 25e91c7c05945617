// Sends the user's decisions about corrections to the server, only with the user's consent.
//
// The server signs a sentence with all edits that it has shown; a decision names the number of its
// edit among these. An edit keeps the token of the first answer that showed it, even if other edits
// around it are made.

export class Feedback {
  #send;
  #last = Promise.resolve();
  #decided = new Map(); // id of an accepted or ignored correction -> {token, edit}

  /** `send` posts one decision and returns a promise. */
  constructor(send) {
    this.#send = send;
  }

  /** Note that a correction was "accepted" or "ignored"; its `id` takes the decision back. */
  decide(id, shown, decision) {
    if (!shown) return;
    this.#decided.set(id, shown);
    this.#post(shown, decision);
  }

  takeBack(id) {
    const shown = this.#decided.get(id);
    if (!shown) return;
    this.#decided.delete(id);
    this.#post(shown, "undecided");
  }

  /** Forget all decisions, because the consent has ended. */
  forget() {
    this.#decided.clear();
  }

  /** Send decisions one after another, because the later one counts; failures are not shown. */
  #post({ token, edit }, decision) {
    const body = { shown: token, edit, decision, consent: true };
    this.#last = this.#last.then(() => this.#send(body)).catch(() => {});
  }
}
