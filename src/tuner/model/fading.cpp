#include <atomic>

#include "tuner/model/model.h"

namespace lathe::model {
namespace {

class Faded final : public CostModel {
 public:
  explicit Faded(std::shared_ptr<const CostModel> global) : global_(std::move(global)) {}

  float share() const { return share_; }
  void set_share(float share) { share_ = share; }

  bool trained() const override { return global_->trained(); }
  Status predict(std::span<const float> features, int width,
                 std::span<float> scores) const override {
    LATHE_TRY_STATUS(global_->predict(features, width, scores));
    for (float& score : scores) score *= share_;
    return {};
  }
  Status train(const Rows&) override { return fixed(); }
  Status load(const std::string&) override { return fixed(); }
  Result<std::string> save() const override { return global_->save(); }

 private:
  static Status fixed() {
    return fail(ErrorKind::kUnsupported, "a global model under another is not changed");
  }

  const std::shared_ptr<const CostModel> global_;
  std::atomic<float> share_ = 1;
};

class Fading final : public CostModel {
 public:
  Fading(std::shared_ptr<Faded> global, double rows, std::unique_ptr<CostModel> whole)
      : global_(std::move(global)), rows_(rows), whole_(std::move(whole)) {}

  Status train(const Rows& rows) override {
    return beside(rows, [&] { return whole_->train(rows); });
  }
  Status update(const Rows& rows) override {
    return beside(rows, [&] { return whole_->update(rows); });
  }
  bool trained() const override { return whole_->trained(); }
  Status predict(std::span<const float> features, int width,
                 std::span<float> scores) const override {
    return whole_->predict(features, width, scores);
  }
  Result<std::string> save() const override { return whole_->save(); }
  Status load(const std::string& bytes) override { return whole_->load(bytes); }

 private:
  template <class Learn>
  Status beside(const Rows& rows, const Learn& learn) {
    const float before = global_->share();
    global_->set_share(static_cast<float>(rows_ / (rows_ + rows.count())));
    auto status = learn();
    if (!status) global_->set_share(before);
    return status;
  }

  const std::shared_ptr<Faded> global_;
  const double rows_;
  const std::unique_ptr<CostModel> whole_;
};

}  // namespace

std::unique_ptr<CostModel> make_fading(std::shared_ptr<const CostModel> global, double rows,
                                       const MakeOver& make) {
  auto faded = std::make_shared<Faded>(std::move(global));
  auto whole = make(faded);
  return std::make_unique<Fading>(std::move(faded), rows, std::move(whole));
}

}  // namespace lathe::model
